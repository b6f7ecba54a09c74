package spec

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"assay/harness/observe/metric"
)

// slos reads the SLOs of a profile, sorted by metric.
func (r *reader) slos(n *node, hasLedger, hasReader bool) []SLO {
	if !r.is(n, jsontext.KindBeginObject, exampleOf(n)) {
		return nil
	}
	if len(n.children) == 0 {
		r.fail(n, "there is no SLO", "add "+example["slo"])
	}
	var all []SLO
	stands := map[string]int{} // line, by what the SLO asks
	for _, c := range n.children {
		var s SLO
		if problem := s.parseMetric(c.name); problem != "" {
			r.failAt(c.nameAt, n.place(), problem, `write for example "http_req_duration{name:pay}"`)
			continue
		}
		if problem := s.reserved(hasLedger, hasReader); problem != "" {
			r.failAt(c.nameAt, n.place(), problem, "")
			continue
		}
		expressions := r.list(c)
		if len(expressions) == 0 && c.kind == jsontext.KindBeginArray {
			r.fail(c, "there is no expression", "use "+forms[kind(s.Metric)])
		}
		for _, e := range expressions {
			s := s // each its own, on the same metric
			if !r.expression(e, &s) {
				continue
			}
			id := fmt.Sprint(s.MetricText(), s.Aggregate, s.Count, s.Quantile, s.Operator, s.Bound)
			if line, ok := stands[id]; ok {
				r.fail(e, fmt.Sprintf("%s asks the same as line %d", quote(s.Expression), line), "")
				continue
			}
			stands[id] = s.At.Line
			all = append(all, s)
		}
	}
	slices.SortStableFunc(all, func(a, b SLO) int { return cmp.Compare(a.MetricText(), b.MetricText()) })
	return all
}

// reserved checks the metrics that samples do not decide.
func (s SLO) reserved(hasLedger, hasReader bool) (problem string) {
	ledger := s.Metric == LedgerMetric || s.Metric == PersistLagMetric
	ours := ledger || s.OfReaders() || s.Metric == metric.TransactionDuration
	switch {
	case s.Metric == recoveryTime:
		return recoveryTime + " is reserved: it is not measured yet"
	case ours && len(s.Selector) > 0:
		return s.Metric + " has no tags to select by"
	case ledger && !hasLedger:
		return s.Metric + ` cannot be read back: the profile has no "ledger"`
	case s.Metric == metric.BinlogReaderLag && !hasReader:
		return s.Metric + ` cannot be read: the profile has no "binlog_reader"`
	}
	return ""
}

func (r *reader) expression(n *node, s *SLO) bool {
	if n.kind != jsontext.KindString {
		r.fail(n, fmt.Sprintf("want an expression in a string, not %s", kindWords[n.kind]), "use "+forms[kind(s.Metric)])
		return false
	}
	s.At = r.position(n)
	problem := s.parseExpression(n.text)
	// A wrong aggregate explains more than its wrong operator or bound.
	if s.Aggregate != "" {
		if misfit := s.fits(kind(s.Metric)); misfit != "" {
			problem = misfit
		}
	}
	if problem != "" {
		hint := ""
		if form := forms[kind(s.Metric)]; form != "" && !strings.HasSuffix(problem, form) {
			hint = "use " + form
		}
		r.fail(n, fmt.Sprintf("%s: %s", quote(n.text), problem), hint)
		return false
	}
	return true
}

var abortForm = regexp.MustCompile(`^\s*rate\s*>\s*([0-9]+(?:\.[0-9]+)?)\s+for\s+(\S+)\s*$`)

// abort reads the conditions under which a run is stopped. They take the whole
// metric: what hurts the target is not one endpoint's business.
func (r *reader) abort(n *node) (all []Abort) {
	if !r.is(n, jsontext.KindBeginObject, exampleOf(n)) {
		return nil
	}
	for _, c := range n.children {
		a := Abort{Metric: c.name, At: r.position(c)}
		if !metricName.MatchString(a.Metric) {
			r.failAt(c.nameAt, n.place(), fmt.Sprintf("%s is not the name of a metric", quote(a.Metric)), "an abort takes a whole metric, without tags")
			continue
		}
		typ := kind(a.Metric)
		if typ != rate && typ != "" || a.Metric == recoveryTime {
			r.failAt(c.nameAt, n.place(), fmt.Sprintf("%s is not a rate", a.Metric), "write for example "+example["abort"])
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
			r.fail(c, fmt.Sprintf("%s: share %s is not at least 0 and below 1", quote(c.text), m[1]), "")
			continue
		}
		if a.For, err = time.ParseDuration(m[2]); err != nil || a.For < time.Second || a.For%time.Second != 0 || a.For > MaxDuration {
			r.fail(c, fmt.Sprintf("%s: %s is not whole seconds, 1s to %v", quote(c.text), quote(m[2]), MaxDuration), "")
			continue
		}
		a.Expression = fmt.Sprintf("rate>%s for %s", m[1], m[2])
		all = append(all, a)
	}
	return all
}
