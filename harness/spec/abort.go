package spec

import (
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"assay/harness/observe/metric"
)

// Abort stops a run that does harm: when what it reads exceeds Limit in each second of the
// duration For.
type Abort struct {
	Metric     string        `json:"metric"`              // a rate of the load, or a metric of service or database; with Gauge or Neighbour its name in the profile
	Expression string        `json:"expression"`          // like "rate>0.5 for 10s"
	Limit      float64       `json:"limit"`               // in Unit
	For        time.Duration `json:"for_ns"`              // whole seconds
	Gauge      *Gauge        `json:"gauge,omitempty"`     // that is read for this condition
	Neighbour  *Neighbour    `json:"neighbour,omitempty"` // whose failed requests are a share of its requests
	At         Position      `json:"-"`                   // of the expression, for CheckMetrics
}

// Neighbour is a service that shares something with the system under test, such as its
// database. It is watched by its own counters, or, without Errors, by its health.
type Neighbour struct {
	URL     string        `json:"url"`                  // of its metrics in Prometheus' text format, or of its health
	Errors  string        `json:"errors,omitempty"`     // Selection of the counters of failed requests
	Total   string        `json:"total,omitempty"`      // Selection of the counters of all requests
	Timeout time.Duration `json:"timeout_ns,omitempty"` // of its health: a later answer is a failure
}

const (
	// DefaultHealthTimeout is ten times what a health check needs on a busy machine.
	DefaultHealthTimeout = time.Second
	// maxHealthTimeout bounds how late an abort notices a neighbour that hangs.
	maxHealthTimeout = 10 * time.Second
)

// Units of limits, besides those of metrics.
const (
	unitShare     = "share"
	unitPerSecond = "1/s"
)

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

// Unit is that of Limit and of the readings; empty for a count.
func (a Abort) Unit() string {
	d, ok := a.watched()
	switch {
	case !ok && a.Gauge == nil:
		return unitShare
	case d.Kind == metric.Counter && d.Unit == "":
		return unitPerSecond
	case d.Kind == metric.Counter:
		return d.Unit + "/s"
	}
	return d.Unit
}

// Protects is what the condition protects, like "the database".
func (a Abort) Protects() string {
	if d, ok := a.watched(); ok {
		return d.Protects
	}
	switch {
	case a.Neighbour != nil:
		return "the neighbour " + a.Metric
	case a.Gauge != nil && a.Gauge.URL != "":
		if u, err := url.Parse(a.Gauge.URL); err == nil {
			return "what " + u.Host + " reports"
		}
	case a.Gauge == nil:
		return "the target"
	}
	return "the service"
}

// Reads is the metric of the catalogue that the readings are of.
func (a Abort) Reads() string {
	switch {
	case a.Gauge != nil:
		return metric.AbortGauge
	case a.Neighbour != nil:
		return metric.NeighbourErrors
	}
	return a.Metric
}

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
	if !r.is(n, jsontext.KindBeginObject, exampleOf(n)) {
		return nil
	}
	for _, c := range n.children {
		a, read := Abort{Metric: c.name, At: r.position(c)}, r.abortOnMetric
		if c.kind == jsontext.KindBeginObject {
			read = r.abortOnSource
		}
		if read(c, &a) {
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
	if lacking, next := lacksKey(watched, c.parent.parent, "read"); lacking != "" {
		r.failKey(c, lacking, next)
		return false
	}
	if !r.is(c, jsontext.KindString, example["abort"]) {
		return false
	}
	problem, next := a.parse(c.text)
	if problem == "" {
		return true
	}
	// Of a name that no metric has, only a rate that the script registers may be meant.
	if near, found := nearest(a.Metric, abortable()); !ok && !known && (found || strings.Contains(c.text, "max")) {
		problem = "unknown metric " + quote(a.Metric)
		if found {
			problem += fmt.Sprintf(": did you mean %q?", near)
		}
		r.failKey(c, problem, hint)
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
		r.failKey(c, a.Metric+" is a metric: a gauge or a neighbour needs another name", "write for example "+exampleOf(c))
	}
	r.object(c, []string{"threshold"}, []string{"gauge", "neighbour"})
	gauge, neighbour := c.get("gauge"), c.get("neighbour")
	if gauge != nil && neighbour != nil || !c.mayHave("gauge") && !c.mayHave("neighbour") {
		r.fail(c, `want either "gauge" or "neighbour"`, "write for example "+exampleOf(c))
	}
	if gauge != nil {
		g := r.gauge(gauge)
		a.Gauge = &g
	}
	if neighbour != nil {
		b := r.neighbour(neighbour)
		a.Neighbour = &b
	}
	threshold := c.get("threshold")
	// Without a source, or with both, it is not known what the expression is of.
	known := (gauge == nil) != (neighbour == nil) && c.mayHave("gauge") != c.mayHave("neighbour")
	if !r.is(threshold, jsontext.KindString, exampleOf(threshold)) || !known {
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
	aggregate, form, shown := "max", "max>LIMIT", example["gauge-threshold"]
	d, watched := a.watched()
	switch {
	case a.Unit() == unitShare:
		aggregate, form, shown = "rate", "rate>SHARE", example["abort"]
		if a.Neighbour != nil {
			shown = example["neighbour-threshold"]
		}
	case watched:
		shown = fmt.Sprintf(`"abort": {%q: %q}`, d.Name, d.Abort)
		if d.Kind == metric.Counter {
			aggregate, form = "rate", "rate>NUMBER"
		}
	}
	m := abortForm.FindStringSubmatch(text)
	if m == nil || m[1] != aggregate {
		return fmt.Sprintf("%s: want %s for DURATION", quote(text), form), "write for example " + shown
	}
	limit, err := strconv.ParseFloat(m[2], 64)
	switch {
	case a.Unit() == unitShare && (err != nil || limit >= 1):
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

// neighbour reads how a neighbour is watched: by counters, or by its health.
func (r *reader) neighbour(n *node) (b Neighbour) {
	if !r.object(n, []string{"url"}, []string{"errors", "total", "timeout"}) {
		return b
	}
	b.URL = r.metricsURL(n.get("url"))
	b.Errors, b.Total = r.selection(n.get("errors")), r.selection(n.get("total"))
	counted := false
	for _, keys := range [][2]string{{"errors", "total"}, {"total", "errors"}} {
		if c := n.get(keys[0]); c != nil {
			counted = true
			if !n.mayHave(keys[1]) {
				r.fail(c, fmt.Sprintf("%q requires %q", keys[0], keys[1]), "add "+exampleIn(n, keys[1]))
			}
		}
	}
	timeout := n.get("timeout")
	switch {
	case timeout == nil && !counted:
		b.Timeout = DefaultHealthTimeout
	case timeout == nil:
	case counted:
		r.fail(timeout, `"timeout" is for a URL of its health: it cannot be used with "errors" and "total"`, "")
	default:
		d, ok := r.duration(timeout)
		if b.Timeout = d; ok && (d <= 0 || d > maxHealthTimeout) {
			r.fail(timeout, fmt.Sprintf("timeout %v is out of range: want above 0 and at most %v", d, maxHealthTimeout), "")
		}
	}
	return b
}

// selection reads a Selection; empty if the key is missing.
func (r *reader) selection(n *node) string {
	if n == nil {
		return ""
	}
	text, ok := r.text(n)
	if !ok {
		return ""
	}
	if _, problem := ParseSelection(text); problem != "" {
		r.fail(n, problem, "write for example "+exampleOf(n))
	}
	return text
}

// Aborts reports whether a condition of the profile reads a metric of the catalogue.
func (p Profile) Aborts(name string) bool {
	return slices.ContainsFunc(p.Abort, func(a Abort) bool { return a.Reads() == name })
}
