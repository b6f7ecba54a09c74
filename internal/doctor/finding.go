package doctor

import (
	"slices"
	"time"

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

// Count is the number of findings in this state.
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
	for _, f := range all {
		if f.Check == check && f.State == Warning {
			return true
		}
	}
	return false
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
	switch {
	case d >= time.Second || d <= -time.Second:
		return d.Round(10 * time.Millisecond).String()
	case d >= time.Millisecond || d <= -time.Millisecond:
		return d.Round(10 * time.Microsecond).String()
	}
	return d.Round(time.Microsecond).String()
}
