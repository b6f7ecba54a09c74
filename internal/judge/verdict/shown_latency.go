// SPDX-License-Identifier: Apache-2.0

package verdict

import (
	"cmp"
	"slices"
	"strings"

	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/spec"
)

// describeLatency describes the transaction, every endpoint by the label name of its requests
// (other labels, such as the status, are merged), and the script's own times that SLOs
// judge, by the SLOs' metric and selector. Groups of the script, which are the steps of a
// journey, are named like "group checkout". An interval takes as long as an SLO does: where
// there are too many names for the judged seconds, the others have none.
func describeLatency(e *evidence) map[string]Latency {
	all := map[string]Latency{}
	add := func(name string, d *distribution) {
		all[name] = describe(d, (len(all)+1)*len(e.windows) <= spec.MaxJudged)
	}
	add(TransactionName, e.distribution(metric.TransactionDuration, nil))
	seen := map[string]bool{TransactionName: true}
	for _, of := range metric.Protocols {
		for _, name := range endpointNames(e, of) {
			d := e.distribution(of.Duration(), label("name", name)) // empty also selects the series without one
			if d.all.Count() == 0 {
				continue
			}
			name = cmp.Or(name, "(no name)")
			if seen[name] { // the transaction, or an endpoint of another protocol
				name = of.Duration() + " " + name
			}
			seen[name] = true
			add(name, d)
		}
	}
	for _, s := range e.seriesOf(metric.GroupDuration) {
		name := strings.TrimPrefix(s.Label("group"), groupSeparator)
		if name == "" || seen[groupSeparator+name] {
			continue
		}
		seen[groupSeparator+name] = true
		if d := e.distribution(metric.GroupDuration, label("group", s.Label("group"))); d.all.Count() > 0 {
			add("group "+name, d)
		}
	}
	for _, s := range e.Plan.Profile.WholeSLOs() {
		name := s.MetricText()
		isTime := slices.ContainsFunc(e.seriesOf(s.Metric), func(s metric.Series) bool { return s.Unit == "ms" })
		if _, known := metric.Find(s.Metric); known || seen[name] || !isTime {
			continue
		}
		seen[name] = true
		if d := e.distribution(s.Metric, s.Selector); d.all.Count() > 0 {
			add(name, d)
		}
	}
	return all
}

// groupSeparator begins the names of k6's groups, and separates those of nested ones.
const groupSeparator = "::"

// describe describes a distribution, with intervals or without.
func describe(d *distribution, intervals bool) Latency {
	l := Latency{Unit: "ms", Count: int64(d.all.Count())}
	var least, most Ends
	for _, p := range []struct {
		q                          float64
		is, lower, upper, from, to **float64
	}{
		{0.5, &l.P50, &l.Lower.P50, &l.Upper.P50, &least.P50, &most.P50},
		{0.9, &l.P90, &l.Lower.P90, &l.Upper.P90, &least.P90, &most.P90},
		{0.95, &l.P95, &l.Lower.P95, &l.Upper.P95, &least.P95, &most.P95},
		{0.99, &l.P99, &l.Lower.P99, &l.Upper.P99, &least.P99, &most.P99},
		{0.999, &l.P999, &l.Lower.P999, &l.Upper.P999, &least.P999, &most.P999},
	} {
		if *p.is = known(d.all.Quantile(p.q)); *p.is == nil {
			continue
		}
		if intervals {
			*p.lower, *p.upper = d.interval(p.q)
		}
		*p.from, *p.to = d.ends(p.q)
	}
	if l.Max = known(d.all.Quantile(1)); l.Max != nil {
		least.Max, most.Max = d.ends(1)
	}
	l.Mean = known(d.all.Mean())
	if least != (Ends{}) {
		l.AtLeast = &least
	}
	if most != (Ends{}) {
		l.AtMost = &most
	}
	clear(d.counted) // the counts of a day take 4 MB for each limit
	return l
}
