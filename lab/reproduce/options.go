package reproduce

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"assay.dev/assay/certificate"
	"assay.dev/assay/internal/judge/page"
	"assay.dev/assay/internal/quantity"
	"assay.dev/assay/internal/run"
	"assay.dev/assay/internal/spec"
	"assay.dev/assay/internal/trial"
)

// Options are what every report needs.
type Options struct {
	Dir     string      // folder of the results
	Shared  run.Options // common to all runs: the system under test is set
	Console *trial.Console
	Quick   bool // short runs, which show that everything works, and hardly more
	Seed    uint64
}

// Certify certifies a profile, changed by change (nil: not), and returns its certificate,
// whatever the verdict is.
func (o Options) Certify(ctx context.Context, name string, change func(*spec.Profile)) (certificate.Certificate, error) {
	p, err := o.Shared.File.Profile(name)
	if err != nil {
		return certificate.Certificate{}, err
	}
	if change != nil {
		change(&p)
	}
	r := o.Shared
	r.ID, r.Profile, r.Scope, r.Seed = trial.NewID(name), p, spec.ScopeTrial, o.Seed
	r.Dir, r.Overrides = filepath.Join(o.Dir, name), o.Overrides()
	result, _, err := trial.Certify(ctx, r, o.Console, nil, "", trial.Run)
	if err != nil {
		return certificate.Certificate{}, fmt.Errorf("%s: %w", name, err)
	}
	if ctx.Err() != nil {
		return certificate.Certificate{}, context.Cause(ctx)
	}
	return result.Certificate(), nil
}

// Overrides are what a quick run changes of a profile; nil: nothing.
func (o Options) Overrides() map[string]string {
	if !o.Quick {
		return nil
	}
	return map[string]string{"load": "a quick one"}
}

// SLOTable lists the SLOs whose metric begins with one of the prefixes, with the interval
// of the observed value.
func SLOTable(c certificate.Certificate, prefixes ...string) page.Block {
	t := page.Table{Columns: slices.Concat(page.Names("measured"), page.Numbers("observed", "98 % interval", "samples"))}
	for _, s := range c.SLOs {
		if !begins(s.Metric, prefixes) {
			continue
		}
		t.Rows = append(t.Rows, page.Cells(s.Metric+" "+aggregate(s.Expression), quantity.Optional(s.Observed, s.Unit), quantity.Range(s.Lower, s.Upper, s.Unit), quantity.Count(s.Samples)))
	}
	return t
}

// aggregate is the word of an expression before its operator.
func aggregate(expression string) string { return expression[:strings.IndexAny(expression, "<>=")] }

func begins(text string, prefixes []string) bool {
	return slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(text, p) })
}

// LatencyTable lists the percentiles of the times whose name begins with one of the
// prefixes.
func LatencyTable(c certificate.Certificate, prefixes ...string) page.Block {
	t := page.Table{Columns: slices.Concat(page.Names("time, ms"), page.Numbers("count", "p50", "p95", "p99", "max"))}
	var names []string
	for name := range c.Latency {
		if begins(name, prefixes) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		l := c.Latency[name]
		t.Rows = append(t.Rows, page.Cells(name, fmt.Sprint(l.Count), quantity.OptionalValue(l.P50, "ms"), quantity.OptionalValue(l.P95, "ms"), quantity.OptionalValue(l.P99, "ms"), quantity.OptionalValue(l.Max, "ms")))
	}
	return t
}

// Verdict is the verdict of a certificate with its ledger, in a line.
func Verdict(c certificate.Certificate) page.Block {
	text := c.Verdict + ": " + c.Claim
	if l := c.Ledger; l != nil {
		text += fmt.Sprintf(" Ledger: acknowledged %d, persisted %d, missing %d, duplicated %d.", l.Acknowledged, l.Persisted, l.Missing, l.Duplicated)
	}
	return page.Paragraph{Text: text, State: page.VerdictState(c.Verdict)}
}
