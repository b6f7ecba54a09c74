package report

import (
	"encoding/json"
	"fmt"
	"strings"

	"assay/harness/judge/certificate"
	"assay/harness/judge/diagnose"
	"assay/harness/judge/internal/plain"
)

// mostStatements are shown of a diagnosis.
const mostStatements = 5

// Diagnosis is what a certificate says of where the time went, at most 100
// columns wide.
func Diagnosis(c certificate.Certificate) []byte {
	p := &page{}
	p.Blank()
	p.Line("  ", plain.Clip(c.Profile+"  "+asked(c)+"  "+c.Verdict, plain.Columns-4))
	p.Blank()
	p.bottleneck(c.Bottleneck)
	p.split(c.Split)
	p.Blank()
	p.waits(c.Waits)
	p.Blank()
	p.statements(c.Statements)
	p.Blank()
	p.resources(c.Resources)
	p.Blank()
	return []byte(p.String())
}

// DiagnosisJSON is the same as the certificate's fields.
func DiagnosisJSON(c certificate.Certificate) ([]byte, error) {
	text, err := json.MarshalIndent(struct {
		Run        string                  `json:"run"`
		Profile    string                  `json:"profile"`
		Verdict    string                  `json:"verdict"`
		Bottleneck *certificate.Bottleneck `json:"bottleneck"`
		Split      []certificate.Split     `json:"split"`
		Waits      []certificate.Wait      `json:"waits"`
		Statements []certificate.Statement `json:"statements"`
		Resources  []certificate.Resource  `json:"resources"`
	}{c.Run, c.Profile, c.Verdict, c.Bottleneck, c.Split, c.Waits, c.Statements, c.Resources}, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("write diagnosis: %w", err)
	}
	return append(text, '\n'), nil
}

// named is the component with its confidence and what comes second.
func named(b certificate.Bottleneck) string {
	text := b.Component
	if b.Confidence != nil && b.Component != diagnose.Undetermined {
		text += fmt.Sprintf(", confidence %s", percentOf(*b.Confidence))
	}
	if b.RunnerUp != nil && b.Component != diagnose.Undetermined {
		text += fmt.Sprintf("; next %s, %s ms", b.RunnerUp.Component, plain.Number(b.RunnerUp.GrowthMs))
	}
	return text
}

func percentOf(share float64) string {
	v := 100 * share
	return plain.Number(&v) + " %"
}

func (p *page) bottleneck(b *certificate.Bottleneck) {
	if b == nil {
		p.Line("  Bottleneck not examined: no transaction ran")
		return
	}
	p.why(b)
	for _, e := range b.Evidence {
		p.Wrap("    - ", "      ", e)
	}
	if len(b.Confirm) > 0 {
		p.Wrap("  Confirm    ", indent, confirming(b.Confirm))
	}
	if b.Remedy != "" {
		p.Wrap("  Remedy     ", indent, b.Remedy)
	}
	p.Blank()
}

// why names the bottleneck in two lines or so.
func (p *page) why(b *certificate.Bottleneck) {
	if b == nil {
		return
	}
	p.Wrap("  Bottleneck ", indent, named(*b))
	p.Wrap(indent, indent, b.Sentence)
}

func (p *page) split(split []certificate.Split) {
	if len(split) == 0 {
		return
	}
	table := [][]string{{"Time of a transaction, ms", "judged", "baseline", "change", "95 % interval"}}
	var hold, base float64
	for _, s := range split {
		row := []string{"  " + s.Component, plain.Number(s.MsPerTransaction), plain.Number(s.BaselineMsPerTransaction), "", ""}
		hold += zeroed(s.MsPerTransaction)
		base += zeroed(s.BaselineMsPerTransaction)
		if s.MsPerTransaction != nil && s.BaselineMsPerTransaction != nil {
			change := *s.MsPerTransaction - *s.BaselineMsPerTransaction
			row[3] = plain.Number(&change)
		}
		if s.Lower != nil && s.Upper != nil {
			row[4] = plain.Number(s.Lower) + " to " + plain.Number(s.Upper)
		}
		table = append(table, row)
	}
	all := []string{"  all", plain.Number(&hold), plain.Number(nil), "", ""}
	if split[0].BaselineMsPerTransaction != nil {
		change := hold - base
		all[2], all[3] = plain.Number(&base), plain.Number(&change)
	}
	table = append(table, all)
	p.Table(table, func(_ int, text string) string { return text })
}

func (p *page) statements(all []certificate.Statement) {
	if all == nil {
		p.Line("  Statements no data")
		return
	}
	p.Line("  ", plain.Left("Statements", 50), plain.Right("calls/tx", 10), plain.Right("share", 9), plain.Right("ms/call", 12), plain.Right("rows/call", 12))
	for _, s := range all[:min(len(all), mostStatements)] {
		p.Line("  ", plain.Left("  "+s.Text, 50), plain.Right(plain.Number(s.CallsPerTransaction), 10), plain.Right(percentOf(s.Share), 9),
			plain.Right(plain.Number(s.MsPerCall), 12), plain.Right(plain.Number(s.RowsPerCall), 12))
		if s.Event != "" {
			p.Line("  ", plain.Left(fmt.Sprintf("    %s of its samples in %s  %s", percentOf(s.WaitShare), s.Class, s.Event), plain.Columns-2))
		}
	}
	p.more(len(all) - mostStatements)
}

func (p *page) resources(all []certificate.Resource) {
	if len(all) == 0 {
		p.Line("  Cost       no data")
		return
	}
	p.Line("  ", plain.Left("Cost of a transaction", 30), plain.Right("judged", 12), plain.Right("baseline", 12))
	for _, r := range all {
		unit, _, _ := strings.Cut(r.Unit, "/")
		name := r.Name
		if unit != "1" {
			name += ", " + unit
		}
		p.Line("  ", plain.Left("  "+name, 30), plain.Right(plain.Number(r.PerTransaction), 12), plain.Right(plain.Number(r.BaselinePerTransaction), 12))
	}
}
