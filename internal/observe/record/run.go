// SPDX-License-Identifier: Apache-2.0

package record

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"assay.dev/assay/certificate"
	"assay.dev/assay/internal/observe/ledger"
	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/plan"
	"assay.dev/assay/internal/rulebook"
	"assay.dev/assay/internal/spec"
)

// Run is a sealed record in memory: the only input of verdict and diagnosis.
type Run struct {
	Plan        Plan
	Flow        string // flow whose run PerFlow made this; empty: the whole run
	Environment Environment
	Facts       Facts
	Timeline    *Timeline
	Ledger      *ledger.Comparison // nil: the profile has no ledger, or it could not be read back
	Manifest    string             // "sha256:" and the digest of evidence/manifest.json
	Rejudged    *Digest            // thresholds that replace the run's own; nil: none
	// Contradictions are what cannot have been measured, by source: frames of workers, and
	// points of others. They are not in Timeline.
	Contradictions []Contradiction
}

// Plan is evidence/plan.json: what was requested.
type Plan struct {
	Schema     string            `json:"schema"` // "assay/plan/v1"
	Run        string            `json:"run"`
	Profile    spec.Profile      `json:"profile"`
	Load       plan.Plan         `json:"load"`               // in a Run: up to the look at which it ended
	Target     string            `json:"target"`             // base URL
	Database   string            `json:"database,omitempty"` // DSN without password, else Insights; empty: the run had none
	Insights   string            `json:"insights,omitempty"` // the instance whose waits are read from Performance Insights; empty: none
	Readers    []string          `json:"readers,omitempty"`  // DSNs without password of the replicas whose lag is watched
	Thresholds Digest            `json:"thresholds"`
	Scripts    []Digest          `json:"scripts"` // the scenario and the local modules it imports
	Scope      string            `json:"scope"`   // "smoke", "certificate" or "trial"
	Tool       Tool              `json:"tool"`
	Overrides  map[string]string `json:"overrides,omitempty"` // profile values that the command line changed: "rate", "hold"
}

// These stand in the certificate as in the record.
type (
	Digest   = certificate.Digest
	Tool     = certificate.Tool
	Host     = certificate.Host
	Database = certificate.Database
	Service  = certificate.Service
	Build    = certificate.Build
)

// Environment is evidence/environment.json: where the run took place.
type Environment struct {
	Schema     string    `json:"schema"` // "assay/environment/v1"
	Host       Host      `json:"host"`   // the coordinator's
	Database   *Database `json:"database,omitempty"`
	Service    *Service  `json:"service,omitempty"` // nil: it reports no build
	CoLocation []string  `json:"co_location"`       // what shares a host with a worker: "service", "database"
	// Workers is where the workers ran, by number; nil in old records: all on Host.
	Workers []WorkerHost `json:"workers,omitempty"`
}

// WorkerHost is where a worker ran.
type WorkerHost struct {
	Source string  `json:"source"` // "worker/0", ...
	Share  float64 `json:"share"`  // share of the load, (0,1]
	Local  bool    `json:"local"`  // on the coordinator's machine, so that they have the same clock
	Host   Host    `json:"host"`
	Pod    string  `json:"pod,omitempty"`  // NAMESPACE/NAME; empty: not in a cluster
	Node   string  `json:"node,omitempty"` // node that the pod runs on
}

// Facts is evidence/facts.json: what happened, written when the record is sealed.
type Facts struct {
	Schema      string      `json:"schema"` // "assay/facts/v1"
	T0          time.Time   `json:"t0"`     // start of all schedules; a whole second
	Ended       time.Time   `json:"ended"`
	Stopped     string      `json:"stopped,omitempty"` // why the run ended before its plan did: "interrupted", ...; empty: it did not
	Interrupted bool        `json:"interrupted,omitempty"`
	Look        int         `json:"look,omitempty"`          // the plan's look, counted from 1, at which the hold ended; 0: the plan has none
	Aborted     *Abort      `json:"aborted,omitempty"`       // the condition of the profile that stopped the run; nil: none did
	ClockStepMs *float64    `json:"clock_step_ms,omitempty"` // largest step of the coordinator's wall clock; nil: unknown
	Workers     []Worker    `json:"workers"`
	Collectors  []Collect   `json:"collectors"`
	Ledger      LedgerFact  `json:"ledger"`
	Faults      []Fault     `json:"faults,omitempty"`     // those of the profile, in its order
	Invariants  []Invariant `json:"invariants,omitempty"` // those of the profile, in its order
	Stubs       []Stub      `json:"stubs,omitempty"`      // stubs at which the run began, by name
	Limitations []string    `json:"limitations,omitempty"`
	Issued      time.Time   `json:"issued"`
	// Attempts is the number of runs of this profile at this target and revision of the
	// service, including this one; 0: unknown, or a trial, which is none.
	Attempts int      `json:"attempts"`
	Earlier  *Earlier `json:"earlier,omitempty"` // the attempts before this one; nil: they were not counted
}

// Earlier is what is known of the attempts before a run.
type Earlier struct {
	Verdicts []Verdicts `json:"verdicts,omitempty"`
	Same     int        `json:"same,omitempty"`    // those with the same load, SLOs and scripts
	Unread   int        `json:"unread,omitempty"`  // lines of the journal that could not be read: there may be more attempts
	Unknown  string     `json:"unknown,omitempty"` // why the number of attempts is not known; empty: it is
}

// Verdicts is a number of runs with one verdict.
type Verdicts struct {
	Verdict string `json:"verdict"` // empty: they ended without one
	Runs    int    `json:"runs"`
}

// Outcomes are the words of verdicts.
var Outcomes = []string{"PASS", "FAIL", "INVALID", "INCONCLUSIVE"}

// check refuses numbers that cannot be counted.
func (e *Earlier) check(attempts int) error {
	if e == nil {
		return nil
	}
	sum, seen := 0, map[string]bool{}
	for _, v := range e.Verdicts {
		if v.Runs < 1 || seen[v.Verdict] || v.Verdict != "" && !slices.Contains(Outcomes, v.Verdict) {
			return fmt.Errorf("earlier.verdicts has %d of %.40q", v.Runs, v.Verdict)
		}
		seen[v.Verdict] = true
		sum += min(v.Runs, attempts)
	}
	if e.Unread < 0 || e.Same < 0 || e.Same > sum || (e.Unknown == "" && attempts != sum+1) || (e.Unknown != "" && attempts != 0) {
		return fmt.Errorf("attempts is %d, and %d were earlier", attempts, sum)
	}
	return nil
}

// Abort is a condition under which the profile stops a run, to protect the target or others,
// and the unix seconds [From, To) in which it held.
type Abort struct {
	// Metric is a rate of the load, like http_req_failed, or the name of a condition on something
	// else.
	Metric     string `json:"metric"`
	Expression string `json:"expression"` // like "rate>0.5 for 10s"
	// Limit is the expression's limit, in Unit. The JSON key is older than limits that are no
	// shares.
	Limit float64 `json:"share"`
	// Unit is the unit of Limit and Observed if Protects is not empty; empty: a count. Otherwise
	// both are shares.
	Unit     string `json:"unit,omitempty"`
	Protects string `json:"protects,omitempty"` // like "the neighbour orders"; empty: the target, by a rate of the load
	From     int64  `json:"from"`
	To       int64  `json:"to"`
	// Occurred is the number of samples of a rate of the load that were not 0, and Total the
	// number of all its samples in these seconds.
	Occurred float64   `json:"occurred"`
	Total    float64   `json:"total"`
	Observed []Reading `json:"observed,omitempty"` // what was read in these seconds
}

// Guards reports whether the condition is on something else than the load: it is then no SLO
// of the system under test.
func (a Abort) Guards() bool { return a.Protects != "" }

// String says what was protected, and from what.
func (a Abort) String() string {
	switch {
	case !a.Guards():
		return fmt.Sprintf("to protect the target: %s %s", a.Metric, a.Expression)
	case strings.HasSuffix(a.Protects, " "+a.Metric): // a neighbour by its name
		return fmt.Sprintf("to protect %s: %s", a.Protects, a.Expression)
	}
	return fmt.Sprintf("to protect %s: %s %s", a.Protects, a.Metric, a.Expression)
}

// Reading is what was read in one second.
type Reading struct {
	Second int64   `json:"second"` // unix second
	Value  float64 `json:"value"`
}

// States of a collector and of the ledger.
const (
	StateOK     = "ok"
	StateAbsent = "absent" // not configured, or nothing to read
	StateFailed = "failed"
)

// ExitLost is the exit of a worker that was not heard from any more.
const ExitLost = "lost"

// Worker is how one worker ended.
type Worker struct {
	Source string `json:"source"`           // "worker/0"
	Exit   string `json:"exit"`             // "0", "signal: killed", ExitLost, ...
	Error  string `json:"error,omitempty"`  // last error line of its log, if it failed
	Logged string `json:"logged,omitempty"` // first error or warning of its log
	Thrown string `json:"thrown,omitempty"` // first exception of the script in its log
	Pod    *Pod   `json:"pod,omitempty"`    // nil: not in a cluster, or not known
}

// Reasons of a Pod. The cluster may name others.
const (
	ReasonOutOfMemory = "OOMKilled"
	ReasonEvicted     = "Evicted"
	ReasonPreempted   = "Preempted"
	ReasonDeleted     = "deleted"
)

// Pod is what the cluster said of a worker's pod when the run ended.
type Pod struct {
	Name    string `json:"name"`              // NAMESPACE/NAME
	Node    string `json:"node,omitempty"`    // empty: it was on none, or not known
	Phase   string `json:"phase"`             // "Pending", "Running", "Succeeded", "Failed"
	Reason  string `json:"reason,omitempty"`  // why it did not end by itself; empty: it did, or it runs
	Message string `json:"message,omitempty"` // the cluster's words on Reason: one line of at most 300 bytes
	// ExitCode is the exit code of the pod's container; nil: it has not ended, or not known.
	ExitCode *int      `json:"exit_code,omitempty"`
	Restarts int       `json:"restarts,omitempty"` // restarts of the pod's container
	At       time.Time `json:"at,omitzero"`        // when Reason was first seen, by the coordinator's clock; zero: not known
}

// Collect is how one collector ended.
type Collect struct {
	// Source is the source of the collector's frames: "database", "service", "host", "lag",
	// "gauges", "neighbours".
	Source string `json:"source"`
	State  string `json:"state"` // "ok", "absent", "failed"
	Reason string `json:"reason,omitempty"`
}

// LedgerFact is how reading the ledger ended.
type LedgerFact struct {
	State      string `json:"state"` // "ok", "absent", "failed"
	Reason     string `json:"reason,omitempty"`
	Unfinished bool   `json:"unfinished,omitempty"` // rows were still being stored: those that are missing are late or lost
	// Notes are what else a reader must know of the rows.
	Notes []string `json:"notes,omitempty"`
	// Forms are those of the stored identities, by the number of the flow.
	Forms []ledger.Forms `json:"forms,omitempty"`
	// ReadAt is when the rows had been read; zero: unknown.
	ReadAt time.Time `json:"read_at,omitzero"`
	// ZoneSeconds are by how much the time zones that sessions of the server may have are ahead
	// of UTC.
	ZoneSeconds []int64 `json:"zone_seconds,omitempty"`
	// ClockMs is how far the database's clock was ahead of the coordinator's; nil: unknown.
	ClockMs *float64 `json:"clock_ms,omitempty"`
	// ClockWithinMs is how far ClockMs may be wrong.
	ClockWithinMs float64 `json:"clock_within_ms,omitempty"`
}

// ledgerSlack is by how much a column of whole seconds may round, and clocks differ that are
// synchronised.
const ledgerSlack = 2 * time.Second

// LedgerWindow is when the rows of a flow's acknowledged transactions can have been stored.
func (r Run) LedgerWindow(flow int) ledger.Window {
	w := ledger.Window{Start: r.Facts.T0.UnixMilli(), Slack: ledgerSlack.Milliseconds()}
	if at := r.Facts.Ledger.ReadAt; !at.IsZero() {
		w.Read = at.UnixMilli()
	}
	if flow < len(r.Plan.Profile.Flows) {
		w.Timeout = r.Plan.Profile.Flows[flow].Timeout.Milliseconds()
	}
	if bound, judged := r.Plan.Profile.Limit(metric.PersistLag); judged {
		w.Slack += int64(rulebook.ClockShare * float64(bound.Milliseconds())) // what clocks may differ by
	}
	return w
}

// Misdated says that rows are dated when they cannot have been stored, so that their persist lag is
// not known; empty: none is.
func (r Run) Misdated() string {
	by := func(ms int64) string { return (time.Duration(ms) * time.Millisecond).Round(time.Second).String() }
	for _, of := range r.PerFlow() {
		if of.Ledger == nil {
			continue
		}
		switch d, w := of.Ledger.Dates, of.LedgerWindow(0); {
		case w.Off(d) < 0:
			return fmt.Sprintf("rows are dated up to %s before their acknowledgement, and before the load began", by(d.Lead))
		case w.Off(d) > 0:
			return fmt.Sprintf("rows are dated up to %s after they were read", by(d.LastRow-w.Read))
		}
	}
	return ""
}

// Fault is what came of one fault of the profile. Times are of the coordinator's clock,
// like T0.
type Fault struct {
	At    time.Time `json:"at,omitzero"`     // when it was begun; zero: it was not
	Done  time.Time `json:"done,omitzero"`   // when what was done to begin it had returned
	Error string    `json:"error,omitempty"` // why it was not injected; empty: it was
	// Ended is when the fault was ended, or an end was begun that may take a while, such as
	// the start of a server; zero: it was not, as nothing has to be done for it.
	Ended    time.Time `json:"ended,omitzero"`
	EndDone  time.Time `json:"end_done,omitzero"`   // when what was done to end it had returned
	EndError string    `json:"end_error,omitempty"` // why it could not be ended
}

// Invariant is what came of one invariant of the profile.
type Invariant struct {
	Rows  int64  `json:"rows"`            // rows that violate the invariant, at most MaxInvariantRows
	Error string `json:"error,omitempty"` // why it could not be checked; empty: it was
}

// Stub is a stub of the profile as it ran, and what it counted from the begin of the run,
// before the load, to its end.
type Stub struct {
	Name      string           `json:"name"`
	URL       string           `json:"url"`
	File      Digest           `json:"file"`   // as the stub has read it; the path is the stub's
	Phases    []spec.StubPhase `json:"phases"` // phases of that file
	Endpoints []StubEndpoint   `json:"endpoints"`
	Ledger    *StubLedger      `json:"ledger,omitempty"` // nil: it could not be read
}

// StubEndpoint is what an endpoint of a stub counted.
type StubEndpoint struct {
	Name       string           `json:"name"`
	Background bool             `json:"background,omitempty"` // no transaction waits for its calls
	Calls      map[string]int64 `json:"calls"`                // by outcome, like metric.StubCalls
	Open       int64            `json:"open"`                 // calls that had not ended
}

// StubLedger is evidence/stubs/NAME.jsonl.zst, the calls of a stub that ended in the run, one
// a line.
type StubLedger struct {
	Calls     int64 `json:"calls"`
	Repeated  int64 `json:"repeated"`            // with the identity of an earlier call of the same endpoint
	Forgotten int64 `json:"forgotten,omitempty"` // calls beyond what the stub keeps
}

// MaxInvariantRows is how many rows that violate an invariant are counted.
const MaxInvariantRows = 1000

// PerFlow is the run as one run for each flow of its profile: with the flow's SLOs, plan,
// ledger and traffic, and all that was measured of the system, the workers and their
// machines. A run whose flow has no name is its own only one.
func (r Run) PerFlow() []Run {
	if !r.Plan.Profile.Named() {
		return []Run{r}
	}
	plans := r.Plan.Load.PerFlow()
	var all []Run
	for i, f := range r.Plan.Profile.Flows {
		of := r
		of.Flow, of.Plan.Profile, of.Plan.Load = f.Name, r.Plan.Profile.Alone(f), plans[i]
		if r.Timeline != nil {
			of.Timeline = r.Timeline.ofFlow(i, f.Name)
		}
		if of.Ledger = nil; f.Ledger != nil && r.Ledger != nil {
			c := r.Ledger.Of(i)
			of.Ledger = &c
		}
		if of.Facts.Ledger.Forms = nil; i < len(r.Facts.Ledger.Forms) {
			of.Facts.Ledger.Forms = r.Facts.Ledger.Forms[i : i+1]
		}
		all = append(all, of)
	}
	return all
}

// ofFlow is the timeline without the traffic of other flows: without series of another
// scenario, and without traffic that names none, as that of setup() and of other senders.
func (t *Timeline) ofFlow(number int, scenario string) *Timeline {
	t.sortSeries()
	of := *t
	of.selected = nil
	of.series = map[string]*timeSeries{}
	kept := func(named map[string][]*timeSeries) map[string][]*timeSeries {
		own := map[string][]*timeSeries{}
		for name, all := range named {
			own[name] = slices.DeleteFunc(slices.Clone(all), func(s *timeSeries) bool {
				label := s.series.Label("scenario")
				return label != scenario && (label != "" || isTraffic(name))
			})
			for _, s := range own[name] {
				of.series[s.key] = s
			}
		}
		return own
	}
	of.named, of.foreign = kept(t.named), kept(t.foreign)
	if number < len(t.bySource.flows) {
		of.bySource = t.bySource.flows[number]
	}
	return &of
}

// isTraffic reports whether a metric is of k6, or of a script, and so measures the traffic
// of one flow.
func isTraffic(name string) bool {
	d, known := metric.Find(name)
	return !known || d.From(metric.SourceK6)
}
