package doctor

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"assay.dev/assay/internal/judge/page"
)

// WriteText writes a table of the findings, then the reason and remedy of each that is
// not OK.
func (all Findings) WriteText(w io.Writer) error {
	var b strings.Builder
	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "check\tstate\tobserved\tneeded")
	for _, f := range all {
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\n", f.name(), f.State, page.Message(f.Observed), page.Message(f.Needed))
	}
	_ = t.Flush() // writes to a strings.Builder never fail
	for _, f := range all {
		if f.State != OK {
			fmt.Fprintf(&b, "\n%s  %s: %s\n", f.State, f.name(), page.Message(f.Why))
			if f.Remedy != "" {
				fmt.Fprintf(&b, "  hint: %s\n", page.Message(f.Remedy))
			}
		}
	}
	if lacking := all.Count(Lacking); lacking > 0 {
		outcome := "a run can start"
		if _, prevented := all.Lacking(); prevented {
			outcome = "no run can start"
		}
		fmt.Fprintf(&b, "\nlacking: %d, warnings: %d; %s\n", lacking, all.Count(Warning), outcome)
	} else {
		fmt.Fprintf(&b, "\nnothing is lacking, warnings: %d\n", all.Count(Warning))
	}
	for line := range strings.Lines(b.String()) {
		if _, err := fmt.Fprintln(w, strings.TrimRight(line, " \n")); err != nil {
			return err
		}
	}
	return nil
}

func (f Finding) name() string {
	if f.Profile == "" {
		return f.Check
	}
	return f.Check + " " + f.Profile
}

// Marshal encodes the findings as a JSON document with a time.
func (all Findings) Marshal(at time.Time) ([]byte, error) {
	all = all.masked()
	data, err := json.MarshalIndent(struct {
		Schema   string    `json:"schema"`
		At       time.Time `json:"at"`
		Lacking  int       `json:"lacking"`
		Warnings int       `json:"warnings"`
		Findings Findings  `json:"findings"`
	}{"assay/findings/v1", at.UTC().Truncate(time.Second), all.Count(Lacking), all.Count(Warning), all}, "", "  ")
	return append(data, '\n'), err
}
