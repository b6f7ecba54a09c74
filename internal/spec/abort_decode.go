// SPDX-License-Identifier: Apache-2.0

package spec

import (
	"cmp"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"assay.dev/assay/internal/observe/metric"
)

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
	watched, ok := a.watched()
	d, known := builtin(a.Metric)
	if !ok && known && d.Kind != metric.Rate {
		r.failKey(c, a.Metric+" is not a rate", hint)
		return false
	}
	if lacking, next := r.lacksKey(watched, c.parent.parent, "read"); lacking != "" {
		r.failKey(c, lacking, next)
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
	if problem, hint := nameFault("gauge or neighbour")(a.Metric); problem != "" {
		r.failKey(c, problem, hint)
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
	if threshold == nil || threshold.bad || (a.Gauge == nil) == (a.Neighbour == nil) {
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
