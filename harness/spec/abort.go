package spec

import (
	"fmt"
	"regexp"
	"strconv"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"assay/harness/observe/metric"
)

var abortForm = regexp.MustCompile(`^\s*rate\s*>\s*([0-9]+(?:\.[0-9]+)?)\s+for\s+(\S+)\s*$`)

// abort reads the conditions under which a run is stopped. They apply to a whole
// metric, without tags: the target is overloaded as a whole, not by endpoint.
func (r *reader) abort(n *node) (all []Abort) {
	if !r.is(n, jsontext.KindBeginObject, exampleOf(n)) {
		return nil
	}
	for _, c := range n.children {
		a := Abort{Metric: c.name, At: r.position(c)}
		if !metricName.MatchString(a.Metric) {
			r.failKey(c, fmt.Sprintf("%s is not the name of a metric", quote(a.Metric)), "an abort takes a whole metric, without tags")
			continue
		}
		if d, ok := builtin(a.Metric); ok && d.Kind != metric.Rate {
			r.failKey(c, fmt.Sprintf("%s is not a rate", a.Metric), "write for example "+example["abort"])
			continue
		}
		if !r.is(c, jsontext.KindString, example["abort"]) {
			continue
		}
		m := abortForm.FindStringSubmatch(c.text)
		if m == nil {
			r.fail(c, fmt.Sprintf("%s: want rate>SHARE for DURATION", quote(c.text)), "write for example "+example["abort"])
			continue
		}
		var err error
		if a.Share, err = strconv.ParseFloat(m[1], 64); err != nil || a.Share >= 1 {
			r.fail(c, fmt.Sprintf("%s: share %s is out of range: want at least 0 and below 1", quote(c.text), m[1]), "")
			continue
		}
		if a.For, err = time.ParseDuration(m[2]); err != nil || a.For < time.Second || a.For%time.Second != 0 || a.For > MaxDuration {
			r.fail(c, fmt.Sprintf("%s: %s is not a whole number of seconds from 1s to %v", quote(c.text), quote(m[2]), MaxDuration), "")
			continue
		}
		a.Expression = fmt.Sprintf("rate>%s for %s", m[1], m[2])
		all = append(all, a)
	}
	return all
}
