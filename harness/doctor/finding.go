package doctor

import (
	"time"

	"assay/harness/quantity"
)

// State is what a check came to.
type State string

// The states of a check.
const (
	OK      State = "ok"
	Warning State = "warning" // a run may go on, and should know
	Lacking State = "lacking" // no run can start
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
	CheckLedger      = "ledger"
	CheckReaders     = "readers"
	CheckGauges      = "gauges"
	CheckScript      = "script"
	CheckInflux      = "influxdb"
)

// Finding is what one check found.
type Finding struct {
	Check      string `json:"check"`
	Profile    string `json:"profile,omitempty"` // empty: it is about all
	State      State  `json:"state"`
	Observed   string `json:"observed"`
	Needed     string `json:"needed,omitempty"`
	Why        string `json:"why,omitempty"`        // what is wrong, in one line; empty when OK
	Remedy     string `json:"remedy,omitempty"`     // the next step: a command where there is one
	Limitation string `json:"limitation,omitempty"` // what a certificate made here has to say
}

// Findings are the results of all checks, in the order of the checks.
type Findings []Finding

// Lacking is the first of the findings that keeps a run from starting.
func (all Findings) Lacking() (Finding, bool) {
	for _, f := range all {
		if f.State == Lacking {
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

// Warned tells whether a check found something short of lacking.
func (all Findings) Warned(check string) bool {
	for _, f := range all {
		if f.Check == check && f.State == Warning {
			return true
		}
	}
	return false
}

// Limitations are what a certificate has to say.
func (all Findings) Limitations() (texts []string) {
	for _, f := range all {
		if f.Limitation != "" {
			texts = append(texts, f.Limitation)
		}
	}
	return texts
}

// fine, doubtful and bad make findings of the three states.
func fine(check, observed, needed string) Finding {
	return Finding{Check: check, State: OK, Observed: observed, Needed: needed}
}

func doubtful(check, observed, needed, why, remedy string) Finding {
	return Finding{Check: check, State: Warning, Observed: observed, Needed: needed, Why: why, Remedy: remedy}
}

func bad(check, observed, needed, why, remedy string) Finding {
	return Finding{Check: check, State: Lacking, Observed: observed, Needed: needed, Why: why, Remedy: remedy}
}

// bytesText is a number of bytes for people; a negative one is 0.
func bytesText(n int64) string { return quantity.Format(float64(max(0, n)), "By") }

// durationText leaves of a duration what people read.
func durationText(d time.Duration) string {
	switch {
	case d >= time.Second || d <= -time.Second:
		return d.Round(10 * time.Millisecond).String()
	case d >= time.Millisecond || d <= -time.Millisecond:
		return d.Round(10 * time.Microsecond).String()
	}
	return d.Round(time.Microsecond).String()
}
