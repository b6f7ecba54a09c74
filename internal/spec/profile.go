// SPDX-License-Identifier: Apache-2.0

package spec

import (
	"path/filepath"
	"slices"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// Profile is one entry of thresholds.json: its flows, and what they have in common.
type Profile struct {
	Name        string           `json:"name"`
	Description string           `json:"description,omitempty"`
	Flows       []Flow           `json:"flows"`                   // at least one; the only one has no name where the file names none
	Common      []SLO            `json:"-"`                       // the SLOs of all flows together, where these have names
	Reader      *Lag             `json:"binlog_reader,omitempty"` // source of binlog_reader_lag
	Consumer    *Consumer        `json:"consumer,omitempty"`      // source of consumer_lag
	Gauges      map[string]Gauge `json:"gauges,omitempty"`        // sources of gauges, by metric
	Abort       []Abort          `json:"abort,omitempty"`
	Faults      []Fault          `json:"faults,omitempty"`     // faults that the run injects, in the order of their times
	Invariants  []Invariant      `json:"invariants,omitempty"` // invariants of the database, checked after the load
	Stubs       map[string]Stub  `json:"stubs,omitempty"`      // stubs of services that the system under test calls, by name
	Needs       []string         `json:"needs,omitempty"`      // what the script gets: "db", the database's DSN; "db_nodes", those of its nodes
	Env         Env              `json:"env,omitempty"`        // further variables of the script
	Marking     Marking          `json:"marking,omitzero"`     // marking of the requests, as test traffic
	Rules       Rules            `json:"rules"`
}

// NeedsDatabase reports whether the script gets the database's DSN.
func (p Profile) NeedsDatabase() bool { return slices.Contains(p.Needs, "db") }

// NeedsNodes reports whether the script gets the DSNs of the database's nodes.
func (p Profile) NeedsNodes() bool { return slices.Contains(p.Needs, "db_nodes") }

// ScriptPath is the path of a flow's scenario, which is relative to the file.
func (f File) ScriptPath(of Flow) string {
	return filepath.Join(filepath.Dir(f.Path), filepath.FromSlash(of.Scenario))
}

// maxTimeout is the longest timeout of a profile.
const maxTimeout = 10 * time.Minute

func (r *reader) profile(n *node) Profile {
	p := Profile{Marking: DefaultMarking}
	r.fill(n, &p)
	p.Name, p.Flows = n.name, nil
	p.Reader.setUnit()
	if f := (Flow{Timeout: DefaultTimeout}); n.get("flows") == nil {
		r.flow(n, &f)
		r.checkOverload(n, f.Load, f.SLOs)
		r.checkPeak(n.get("load"), f.Load)
		p.Flows = []Flow{f}
	} else {
		r.fill(n.get("timeout"), &f.Timeout)
		r.namedFlows(n, &p, f.Timeout)
	}
	if problem := p.judgedFault(); problem != "" {
		r.fail(n, problem, judgedHint)
	}
	p.Abort = r.abort(n.get("abort"))
	if p.Faults != nil {
		r.checkFaults(n.get("faults"), p)
	}
	p.Invariants = r.invariants(n.get("invariants"))
	r.stubs(n.get("stubs"), p.Stubs)
	if m := n.get("marking"); m != nil && m.kind == jsontext.KindFalse {
		p.Marking = Marking{}
	}
	collector := n.get("rules").get("collector")
	r.fill(collector.get("share"), &p.Rules.CollectorShare)
	r.fill(collector.get("gap"), &p.Rules.CollectorGap)
	return p
}

// maxThink is the longest think time of a transaction: users who pause for longer begin
// another one.
const maxThink = 10 * time.Minute

// Marking says how the requests of a run are marked as test traffic. The zero value: not
// at all.
type Marking struct {
	Header  string  `json:"header,omitempty"`  // name of the header that holds the run's id; empty: requests are not marked
	Sampled float64 `json:"sampled,omitempty"` // share of transactions whose traceparent asks for their trace to be recorded, [0,1]
	Baggage bool    `json:"baggage,omitempty"` // they carry baggage, which instrumented services pass on
}

// Defaults of marking.
const (
	DefaultMarkingHeader = "X-Assay-Run"
	// DefaultSampled leaves enough traces to look at, without loading the tracing of a
	// system that samples about as much in production: it obeys the flag.
	DefaultSampled = 0.01
)

// DefaultMarking is that of a profile without the key.
var DefaultMarking = Marking{Header: DefaultMarkingHeader, Sampled: DefaultSampled, Baggage: true}

// Invariant is something that holds in the database whatever the load did, such as that
// debits and credits add up.
type Invariant struct {
	Name string `json:"name"`
	SQL  string `json:"sql"` // returns the rows that violate it: none if it holds; each ? is the run id
}

// invariants reads invariants by name, in the order of the file.
func (r *reader) invariants(n *node) (all []Invariant) {
	for _, c := range n.all() {
		all = append(all, Invariant{c.name, c.text})
	}
	return all
}
