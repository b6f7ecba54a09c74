// SPDX-License-Identifier: Apache-2.0

package spec

import (
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"
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
	Faults      []Fault          `json:"faults,omitempty"`     // that the run injects, in the order of their times
	Invariants  []Invariant      `json:"invariants,omitempty"` // of the database, checked after the load
	Stubs       map[string]Stub  `json:"stubs,omitempty"`      // that stand in for services the system under test calls, by name
	Needs       []string         `json:"needs,omitempty"`      // what the script gets: "db", the database's DSN; "db_nodes", those of its nodes
	Env         Env              `json:"env,omitempty"`        // further variables of the script
	Marking     Marking          `json:"marking,omitzero"`     // of the requests, as test traffic
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
	p := Profile{Name: n.name}
	optional := []string{"timeout", "think", "description", "ledger", "binlog_reader", "consumer", "gauges", "abort", "faults", "invariants", "stubs", "needs", "env", "marking", "rules", "flows"}
	flows := n.get("flows") != nil
	if flows {
		optional = slices.DeleteFunc(append(optional, "load", "slo"), func(key string) bool { return key == "flows" || key == "ledger" || key == "think" })
		if !r.objectRefusing(n, []string{"flows"}, optional, ofFlows) {
			return p
		}
	} else if !r.object(n, []string{"scenario", "load", "slo"}, optional) {
		return p
	}
	if d := n.get("description"); r.is(d, jsontext.KindString, exampleOf(d)) {
		p.Description = d.text
	}
	p.Reader = r.lag(n.get("binlog_reader"))
	p.Consumer = r.consumer(n.get("consumer"))
	p.Gauges = r.gauges(n.get("gauges"))
	if flows {
		r.namedFlows(n, &p)
	} else {
		f := Flow{
			Scenario: r.scenario(n.get("scenario")),
			Load:     r.load(n.get("load")),
			Timeout:  r.timeout(n.get("timeout")),
			Think:    r.think(n.get("think")),
			Ledger:   r.ledger(n.get("ledger")),
			SLOs:     r.slos(n.get("slo")),
		}
		r.checkOverload(n, f.Load, f.SLOs)
		p.Flows = []Flow{f}
	}
	if problem := p.judgedFault(); problem != "" {
		r.fail(n, problem, judgedHint)
	}
	p.Abort = r.abort(n.get("abort"))
	p.Faults = r.faultList(n.get("faults"))
	r.checkFaults(n.get("faults"), p)
	p.Invariants = r.invariants(n.get("invariants"))
	p.Stubs = r.stubs(n.get("stubs"))
	p.Needs = r.needs(n.get("needs"))
	p.Env = r.env(n.get("env"))
	p.Marking = r.marking(n.get("marking"))
	p.Rules = r.rules(n.get("rules"))
	return p
}

// ofFlows are the keys that a profile with flows has in each of them.
var ofFlows = map[string]refusal{
	"scenario": {`"scenario" and "flows" are mutually exclusive`, "a profile has either one scenario, or flows with one each"},
	"ledger":   {`with flows, each flow has its own "ledger"`, "move it to the flows that acknowledge transactions"},
	"think":    {`with flows, each flow has its own "think"`, "move it to the flows whose scripts call think()"},
}

// scenario reads a path below the folder of the thresholds file: the record holds the
// path and digest, and the path must be valid on another machine.
func (r *reader) scenario(n *node) string { return r.filePath(n, example["scenario"], ".js", ".ts") }

// filePath reads the path of a file below the folder of the thresholds file, with one of
// these endings.
func (r *reader) filePath(n *node, like string, endings ...string) string {
	text, ok := r.text(n)
	if !ok {
		return ""
	}
	clean := path.Clean(text)
	hint := "write for example " + like
	switch {
	case slices.Contains(strings.Split(text, "/"), ".."):
		r.fail(n, fmt.Sprintf("%s leaves the folder of the thresholds file", quote(text)), hint)
	case path.IsAbs(text), !fs.ValidPath(clean), strings.ContainsAny(text, "\\:\x00"):
		r.fail(n, fmt.Sprintf("%s is not a relative path", quote(text)), hint)
	case !slices.Contains(endings, path.Ext(clean)), strings.HasPrefix(path.Base(clean), "."):
		r.fail(n, fmt.Sprintf("%s is not a %s file", quote(text), strings.Join(endings, " or ")), hint)
	}
	return clean
}

func (r *reader) timeout(n *node) time.Duration {
	if n == nil {
		return DefaultTimeout
	}
	d, ok := r.duration(n)
	if ok && (d <= 0 || d > maxTimeout) {
		r.fail(n, fmt.Sprintf("timeout %v is out of range: want above 0 and at most %v", d, maxTimeout), "")
	}
	return d
}

// think reads how long a transaction may wait by think(); 0 if the key is missing.
func (r *reader) think(n *node) time.Duration {
	if n == nil {
		return 0
	}
	d, ok := r.duration(n)
	if ok && (d <= 0 || d > maxThink) {
		r.fail(n, fmt.Sprintf("think %v is out of range: want above 0 and at most %v", d, maxThink), "")
	}
	return d
}

// maxThink is the longest think time of a transaction: users who pause for longer begin
// another one.
const maxThink = 10 * time.Minute

func (r *reader) needs(n *node) (all []string) {
	for _, c := range r.list(n) {
		need, ok := r.oneOf(c, "need", "db", "db_nodes")
		if ok && slices.Contains(all, need) {
			r.fail(c, "duplicate need "+quote(need), "")
		}
		all = append(all, need)
	}
	return all
}
