// SPDX-License-Identifier: Apache-2.0

package spec

import (
	"cmp"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"assay.dev/assay/internal/observe/metric"
)

// Abort stops a run that does harm: when what it reads exceeds Limit in each second of the
// duration For.
type Abort struct {
	Metric     string        `json:"metric"`              // a rate of the load, or a metric of service or database; with Gauge or Neighbour its name in the profile
	Expression string        `json:"expression"`          // like "rate>0.5 for 10s"
	Limit      float64       `json:"limit"`               // in Unit
	For        time.Duration `json:"for_ns"`              // whole seconds
	Gauge      *Gauge        `json:"gauge,omitempty"`     // gauge that is read for this condition
	Neighbour  *Neighbour    `json:"neighbour,omitempty"` // whose failed requests are a share of its requests
	At         Position      `json:"-"`                   // position of the expression, for CheckMetrics
}

// unitShare is the unit of limits on shares of requests.
const unitShare = "share"

// watched is the catalogue's entry of the metric of service or database that the condition
// names; ok is false for the others.
func (a Abort) watched() (d metric.Descriptor, ok bool) {
	if a.Gauge != nil || a.Neighbour != nil {
		return d, false
	}
	d, ok = metric.Find(a.Metric)
	return d, ok && d.Abort != ""
}

// OfLoad reports whether the condition is on a rate of the load itself.
func (a Abort) OfLoad() bool {
	_, ok := a.watched()
	return !ok && a.Gauge == nil && a.Neighbour == nil
}

// abortKind is what a condition says and protects, by what it is on.
type abortKind struct {
	reads           string // metric of the catalogue that the readings are of
	protects        string
	unit            string // unit of the limit and of the readings; empty: a count
	aggregate, form string // parts of the expression
	like            string // an example
}

func (a Abort) kind() abortKind {
	switch d, watched := a.watched(); {
	case a.Neighbour != nil:
		return abortKind{metric.NeighbourErrors, "the neighbour " + a.Metric, unitShare, "rate", "rate>SHARE", `"threshold": "rate>0.05 for 10s"`}
	case a.Gauge != nil:
		protects := "the service"
		if u, err := url.Parse(a.Gauge.URL); a.Gauge.URL != "" && err == nil {
			protects = "what " + u.Host + " reports"
		}
		return abortKind{metric.AbortGauge, protects, "", "max", "max>LIMIT", `"threshold": "max>20 for 10s"`}
	case watched:
		k := abortKind{a.Metric, d.Protects, d.Unit, "max", "max>LIMIT", fmt.Sprintf(`"abort": {%q: %q}`, d.Name, d.Abort)}
		if d.Kind == metric.Counter {
			k.unit, k.aggregate, k.form = cmp.Or(d.Unit, "1")+"/s", "rate", "rate>NUMBER"
		}
		return k
	}
	return abortKind{a.Metric, "the target", unitShare, "rate", "rate>SHARE", `"abort": {"http_req_failed": "rate>0.5 for 10s"}`}
}

// Unit is that of Limit and of the readings; empty for a count.
func (a Abort) Unit() string { return a.kind().unit }

// Protects is what the condition protects, like "the database".
func (a Abort) Protects() string { return a.kind().protects }

// Reads is the metric of the catalogue that the readings are of.
func (a Abort) Reads() string { return a.kind().reads }

// Source is the source of the frames that the readings come from; that of the load is
// metric.SourceWorker.
func (a Abort) Source() string {
	d, _ := metric.Find(a.Reads())
	switch {
	case a.OfLoad():
		return metric.SourceWorker
	case d.From(metric.SourceCoordinator): // computed from what the database reports
		return metric.SourceDatabase
	}
	return d.Sources[0]
}

// Aborts reports whether a condition of the profile reads a metric of the catalogue.
func (p Profile) Aborts(name string) bool {
	return slices.ContainsFunc(p.Abort, func(a Abort) bool { return a.Reads() == name })
}

// abortForm is the grammar of all conditions.
var abortForm = regexp.MustCompile(`^\s*(rate|max)\s*>\s*([0-9]+(?:\.[0-9]+)?)\s+for\s+(\S+)\s*$`)

// abortable lists the metrics of service and database that a condition may name.
func abortable() (names []string) {
	for _, d := range metric.Catalogue(func(d metric.Descriptor) bool { return d.Abort != "" }) {
		names = append(names, d.Name)
	}
	return names
}

// abort reads the conditions under which a run is stopped. They apply to a whole
// metric, without tags: the target is overloaded as a whole, not by endpoint.
func (r *reader) abort(n *node) (all []Abort) {
	for _, c := range n.all() {
		a, read := Abort{Metric: c.name, At: r.position(c)}, r.abortOnMetric
		if c.kind == jsontext.KindBeginObject {
			read = r.abortOnSource
		}
		if !c.bad && read(c, &a) {
			all = append(all, a)
		}
	}
	return all
}

// abortOnMetric reads a condition on a metric: "http_req_failed": "rate>0.5 for 10s".
func (r *reader) abortOnMetric(c *node, a *Abort) bool {
	if !metricName.MatchString(a.Metric) {
		r.failKey(c, fmt.Sprintf("%s is not the name of a metric", quote(a.Metric)), "an abort takes a whole metric, without tags")
		return false
	}
	hint := "an abort takes a rate of the load, or one of: " + strings.Join(abortable(), ", ")
	_, ok := a.watched()
	d, known := builtin(a.Metric)
	if !ok && known && d.Kind != metric.Rate {
		r.failKey(c, a.Metric+" is not a rate", hint)
		return false
	}
	problem, next := a.parse(c.text)
	if problem == "" {
		return true
	}
	// A name that no metric has may be meant only as a rate that the script registers.
	if _, near := nearest(a.Metric, abortable()); !ok && !known && (near || strings.Contains(c.text, "max")) {
		r.failKey(c, unknown("metric", a.Metric, abortable()), hint)
		return false
	}
	r.fail(c, problem, next)
	return false
}

// abortOnSource reads a condition on something that is read for it alone.
func (r *reader) abortOnSource(c *node, a *Abort) bool {
	if !profileName.MatchString(a.Metric) {
		r.failKey(c, badName("gauge or neighbour", a.Metric), "")
	} else if _, ok := metric.Find(a.Metric); ok {
		r.failKey(c, a.Metric+" is a metric: a gauge or a neighbour needs another name", r.hint(c, nil))
	}
	r.fill(c.get("gauge"), &a.Gauge)
	r.fill(c.get("neighbour"), &a.Neighbour)
	if b := a.Neighbour; b != nil && b.Errors == "" {
		b.Timeout = cmp.Or(b.Timeout, DefaultHealthTimeout)
	}
	threshold := c.get("threshold")
	// Without a source, or with both, it is not known what the expression is of.
	if threshold == nil || threshold.bad || len(c.unresolved) > 0 || (a.Gauge == nil) == (a.Neighbour == nil) {
		return false
	}
	a.At = r.position(threshold)
	if problem, hint := a.parse(threshold.text); problem != "" {
		r.fail(threshold, problem, hint)
	}
	return c.validTree()
}

// parse reads the expression of a condition of which everything else is known. problem says
// why it cannot, or is empty.
func (a *Abort) parse(text string) (problem, hint string) {
	kind, m := a.kind(), abortForm.FindStringSubmatch(text)
	if m == nil || m[1] != kind.aggregate {
		return fmt.Sprintf("%s: want %s for DURATION", quote(text), kind.form), "write for example " + kind.like
	}
	limit, err := strconv.ParseFloat(m[2], 64)
	switch {
	case kind.unit == unitShare && (err != nil || limit >= 1):
		return fmt.Sprintf("%s: share %s is out of range: want at least 0 and below 1", quote(text), m[2]), ""
	case err != nil:
		return fmt.Sprintf("%s: the limit is out of range", quote(text)), ""
	}
	length, err := time.ParseDuration(m[3])
	if err != nil || length < time.Second || length%time.Second != 0 || length > MaxDuration {
		return fmt.Sprintf("%s: %s is not a whole number of seconds from 1s to %v", quote(text), quote(m[3]), MaxDuration), ""
	}
	a.Limit, a.For, a.Expression = limit, length, fmt.Sprintf("%s>%s for %s", m[1], m[2], m[3])
	return "", ""
}
