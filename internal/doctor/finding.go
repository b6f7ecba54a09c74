package doctor

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"assay.dev/assay/internal/judge/page"
	"assay.dev/assay/internal/mask"
	"assay.dev/assay/internal/quantity"
)

// State is the result of a check.
type State string

// The states of a check.
const (
	OK      State = "ok"
	Warning State = "warning" // a run can start, and the user should know
	Lacking State = "lacking" // no run can start; of leftovers, which prevent none: the database is not as it was
)

// The checks.
const (
	CheckPlan        = "plan"
	CheckFolder      = "folder"
	CheckDescriptors = "descriptors"
	CheckMemory      = "memory"
	CheckCPUs        = "cpus"
	CheckDisk        = "disk"
	CheckTarget      = "target"
	CheckPorts       = "ports"
	CheckClock       = "clock"
	CheckDatabase    = "database"
	CheckConnections = "connections"
	CheckDBClock     = "database-clock"
	CheckWaits       = "waits"
	CheckLeftovers   = "leftovers"
	CheckLogs        = "logs"
	CheckLedger      = "ledger"
	CheckInvariants  = "invariants"
	CheckReaders     = "readers"
	CheckGauges      = "gauges"
	CheckScript      = "script"
	CheckInflux      = "influxdb"
)

// Finding is what one check found.
type Finding struct {
	Check      string `json:"check"`
	Profile    string `json:"profile,omitempty"` // empty: for all profiles
	State      State  `json:"state"`
	Observed   string `json:"observed"`
	Needed     string `json:"needed,omitempty"`
	Why        string `json:"why,omitempty"`        // what is wrong, in one line; empty when OK
	Remedy     string `json:"remedy,omitempty"`     // the next step: a command where there is one
	Limitation string `json:"limitation,omitempty"` // limitation to state in a certificate
}

// Findings are the results of all checks, in the order of the checks.
type Findings []Finding

// Lacking is the first finding that prevents a run from starting.
func (all Findings) Lacking() (Finding, bool) {
	for _, f := range all {
		if f.State == Lacking && f.Check != CheckLeftovers {
			return f, true
		}
	}
	return Finding{}, false
}

func (all Findings) Count(s State) (n int) {
	for _, f := range all {
		if f.State == s {
			n++
		}
	}
	return n
}

// HasWarning reports whether the check has a warning.
func (all Findings) HasWarning(check string) bool {
	return slices.ContainsFunc(all, func(f Finding) bool { return f.Check == check && f.State == Warning })
}

// Limitations are the limitations to state in a certificate.
func (all Findings) Limitations() (texts []string) {
	for _, f := range all {
		if f.Limitation != "" {
			texts = append(texts, f.Limitation)
		}
	}
	return texts
}

// pass, warn and fail make findings of the states OK, Warning and Lacking.
func pass(check, observed, needed string) Finding {
	return Finding{Check: check, State: OK, Observed: observed, Needed: needed}
}

func warn(check, observed, needed, why, remedy string) Finding {
	return Finding{Check: check, State: Warning, Observed: observed, Needed: needed, Why: why, Remedy: remedy}
}

func fail(check, observed, needed, why, remedy string) Finding {
	return Finding{Check: check, State: Lacking, Observed: observed, Needed: needed, Why: why, Remedy: remedy}
}

// check makes findings of one check.
type check struct{ name, observed, needed, remedy string }

func (c check) pass() Finding { return pass(c.name, c.observed, c.needed) }

func (c check) warn(format string, args ...any) Finding {
	return warn(c.name, c.observed, c.needed, fmt.Sprintf(format, args...), c.remedy)
}

func (c check) fail(format string, args ...any) Finding {
	return fail(c.name, c.observed, c.needed, fmt.Sprintf(format, args...), c.remedy)
}

// unknown is the finding if what is to be checked cannot be read.
func (c check) unknown(why, remedy string) Finding {
	return warn(c.name, "not known", c.needed, why, remedy)
}

// masked are the findings without secrets, which the texts of servers, drivers and scripts
// may have.
func (all Findings) masked() Findings {
	all = slices.Clone(all)
	for i := range all {
		f := &all[i]
		for _, text := range []*string{&f.Observed, &f.Needed, &f.Why, &f.Remedy, &f.Limitation} {
			*text = mask.Text(*text)
		}
	}
	return all
}

// bytesText formats a number of bytes with a unit; negative as 0.
func bytesText(n int64) string { return quantity.Format(float64(max(0, n)), "By") }

// durationText formats a duration rounded to a readable precision.
func durationText(d time.Duration) string {
	switch size := d.Abs(); {
	case size >= time.Second:
		return d.Round(10 * time.Millisecond).String()
	case size >= time.Millisecond:
		return d.Round(10 * time.Microsecond).String()
	}
	return d.Round(time.Microsecond).String()
}

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
