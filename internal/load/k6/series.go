package k6

import (
	"cmp"
	"slices"
	"strings"

	"go.k6.io/k6/v2/metrics"

	"assay.dev/assay/internal/load/arrivals"
	"assay.dev/assay/internal/load/sql"
	"assay.dev/assay/internal/mask"
	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/spec"
)

const (
	// minCached and cachedPerVU bound the cache of k6's tag sets, of which every VU
	// has its own. The cache is cleared at that size, as a script with unbounded URLs
	// would let it grow.
	minCached   = 20_000
	cachedPerVU = 20
)

// keptTags are the tags of k6 that become labels of every metric: few, because each
// label set costs one histogram per second. Of rates and trends, the tags of their classes are
// kept too, and those that an SLO selects by.
var keptTags = []string{scenarioTag, "name"}

// readTags are tags that become no labels: the class of a failed request is read from
// them. k6 sets them for requests without a response only.
var readTags = []string{"error"}

// SystemTags are the system tags that k6 must set: those that become labels, and those
// that an SLO selects by. Any other one would cost time at each request.
func SystemTags(slos []spec.SLO) []string {
	tags := slices.Concat(keptTags, readTags)
	for _, keys := range keptFor {
		tags = append(tags, keys...)
	}
	for _, of := range metric.Protocols {
		tags = append(tags, of.Classes...)
	}
	tags = append(tags, metric.Classes(metric.Checks)...)
	for _, s := range slos {
		for _, l := range s.Selector {
			if _, err := metrics.SystemTagString(l.Key); err == nil {
				tags = append(tags, l.Key)
			}
		}
	}
	slices.Sort(tags)
	return slices.Compact(tags)
}

// redirects are the statuses that net/http follows.
var redirects = []string{"301", "302", "303", "307", "308"}

// mapping is where the samples of one k6 time series go: a series of the frame, and the
// SLOs on it.
type mapping struct {
	metric   *metrics.Metric
	kind     metrics.MetricType
	index    int    // index of the series; index of NAME.total for a rate
	occurred int    // index of NAME.occurred, for a rate
	ended    int    // index of the series in ended; -1: none
	class    int    // index of the series of errors that its samples count too; -1: none
	slos     []int  // indexes into seriesIndex.slos
	flow     int    // number of the scenario, or outside
	call     *call  // call that each sample belongs to; nil: none
	sent     bool   // each is a statement, or an opening of a connection
	message  bool   // each is a message of a WebSocket
	waits    bool   // they are times for which the script waits
	span     bool   // its samples are times of a part of the script, which may think
	sends    bool   // its samples tell that something was sent
	check    bool   // of the script
	measured bool   // by k6 itself: a script that adds samples would change what they are of
	total    *int64 // samples of the series' name, over the whole run
}

// seriesIndex maps every k6 time series to series of frames. It is not safe for
// concurrent use.
type seriesIndex struct {
	slos   []judgedSLO
	flows  []Flow
	series []metric.Series
	kinds  []metric.Kind

	byKey     map[string]int
	cached    map[*metrics.TagSet]*tagSet
	maxCached int
	last      *tagSet         // last one used: samples of a request share their tags
	count     map[string]int  // label sets by metric
	named     map[string]bool // names in them
	totals    map[string]*int64
}

// judgedSLO is an SLO of a scenario, with the series of its samples, of its violations, and of
// those that are left when they are cleared of the generator's share.
type judgedSLO struct {
	spec.SLO
	scenario                string
	judged, broken, cleared int
}

// tagSet holds the mappings of the k6 time series with one tag set: about ten, for
// which a list is faster than a map.
type tagSet struct {
	tags     *metrics.TagSet
	mappings []*mapping
	status   string
	redirect bool // the response is a redirect
	class    int  // series of the class of its error, once one with these tags has failed; -1: not known yet
	vu       *vu  // nil: the samples are of no VU
	scenario string
}

func newSeriesIndex(session Session) *seriesIndex {
	c := &seriesIndex{
		flows: session.Flows, maxCached: max(minCached, cachedPerVU*session.VUs),
		byKey: map[string]int{}, cached: map[*metrics.TagSet]*tagSet{}, last: &tagSet{},
		count: map[string]int{}, named: map[string]bool{}, totals: map[string]*int64{},
	}
	for _, f := range session.Flows {
		mask.Keep(f.Scenario)
		for _, s := range f.SLOs {
			if s.Kind() != spec.KindSamples {
				continue
			}
			mask.Keep(s.Words()...)
			counter := func(name string) int { return c.add(metric.Of(name, "slo", s.ID()), metric.Counter) }
			c.slos = append(c.slos, judgedSLO{s, f.Scenario, counter(metric.Judged), counter(metric.Violations), counter(metric.ViolationsCleared)})
		}
	}
	return c
}

// add returns the index of a series, which it adds if it is new.
func (c *seriesIndex) add(s metric.Series, kind metric.Kind) int {
	key := s.Key()
	if i, ok := c.byKey[key]; ok {
		return i
	}
	i := len(c.series)
	c.series, c.kinds = append(c.series, s), append(c.kinds, kind)
	c.byKey[key] = i
	return i
}

// find returns the mapping of a k6 time series; a holds the VUs.
func (c *seriesIndex) find(ts metrics.TimeSeries, a *aggregate) *mapping {
	if c.last.tags != ts.Tags {
		c.last = c.cached[ts.Tags]
		if c.last == nil {
			if len(c.cached) >= c.maxCached {
				clear(c.cached)
			}
			status, _ := ts.Tags.Get("status")
			c.last = &tagSet{tags: ts.Tags, status: status, redirect: slices.Contains(redirects, status), class: -1}
			if name, ok := ts.Tags.Get(arrivals.VUTag); ok {
				c.last.vu = a.vu(name)
				tagged, _ := ts.Tags.Get(scenarioTag)
				c.last.scenario = cmp.Or(c.last.vu.scenario, tagged)
			}
			c.cached[ts.Tags] = c.last
		}
	}
	for _, s := range c.last.mappings {
		if s.metric == ts.Metric {
			return s
		}
	}
	s := c.resolve(ts)
	c.last.mappings = append(c.last.mappings, s)
	return s
}

// total returns the counter of all samples of a metric.
func (c *seriesIndex) total(name string) *int64 {
	if c.totals[name] == nil {
		c.totals[name] = new(int64)
	}
	return c.totals[name]
}

func (c *seriesIndex) resolve(ts metrics.TimeSeries) *mapping {
	name := ts.Metric.Name
	s := &mapping{metric: ts.Metric, kind: ts.Metric.Type, ended: -1, class: -1, call: calls[name]}
	if name == metric.ErrorsByClass {
		s.kind, s.index, s.total = metrics.Counter, c.scriptClass(c.last), new(int64)
		return s
	}
	s.sends, s.check, s.waits = name == metric.DataSent, name == metric.Checks, slices.Contains(waitTimes, name)
	if strings.HasPrefix(name, browserTimes) {
		s.sends = true
		arrivals.Untimed()
	}
	s.span = name == metrics.GroupDurationName || name == metrics.IterationDurationName
	s.message = name == metrics.WSMessagesSentName || name == metrics.WSMessagesReceivedName
	s.sent = name == sql.DurationMetric || name == sql.ConnectingMetric
	if name == sql.ErrorsMetric {
		s.class = c.scriptClass(c.last)
	}
	if e, ok := ended[name]; ok {
		s.ended = c.add(e, metric.Counter)
		s.measured = true
	}
	s.measured = s.measured || metric.ProtocolOf(name) != nil
	shown, labels := maskTag(name), c.labels(ts, c.last)
	switch s.kind {
	case metrics.Rate:
		s.index = c.add(metric.NewSeries(shown+metric.RateTotal, "", labels...), metric.Counter)
		s.occurred = c.add(metric.NewSeries(shown+metric.RateOccurred, "", labels...), metric.Counter)
	case metrics.Trend:
		s.index = c.add(metric.NewSeries(shown, unit(ts.Metric), labels...), metric.Histogram)
	case metrics.Gauge:
		s.index = c.add(metric.NewSeries(shown, unit(ts.Metric), labels...), metric.Gauge)
	default:
		s.index = c.add(metric.NewSeries(shown, unit(ts.Metric), labels...), metric.Counter)
	}
	if s.kind == metrics.Trend || s.kind == metrics.Rate {
		s.total = c.total(c.series[s.index].Name)
	} else {
		s.total = new(int64) // not reported: samples cannot be counted from the sums and gauges of the record
	}
	for i, slo := range c.slos {
		if slo.Metric == name && slo.selects(c.last) {
			s.slos = append(s.slos, i)
		}
	}
	s.flow = c.flowOf(c.last)
	return s
}

// outside is in the place of a flow for samples of setup() and teardown(), which belong to
// none of several.
const outside = -1

// flowOf is the number of the scenario that samples with these tags belong to. A profile
// with one scenario has setup() and teardown() of its own.
func (c *seriesIndex) flowOf(tags *tagSet) int {
	if len(c.flows) == 1 {
		return 0
	}
	return slices.IndexFunc(c.flows, func(f Flow) bool { return f.Scenario == tags.scenario })
}

// scenarioTag names the scenario of samples. A script can set it, and changes nothing: the
// scenario of samples is that of their VU's transactions. Those of setup() and teardown(),
// which are of no VU, have none.
const scenarioTag = "scenario"

// get is a tag of samples.
func (t *tagSet) get(key string) string {
	if key == scenarioTag {
		return t.scenario
	}
	v, _ := t.tags.Get(key)
	return v
}

// labels are the kept tags of a time series. Beyond metric.MaxSeries label sets of a metric they
// are the overflow label, with the scenario, and the name where that is known already: names
// in many groups stay apart, and each new URL does not.
func (c *seriesIndex) labels(ts metrics.TimeSeries, tags *tagSet) []string {
	name := ts.Metric.Name
	keys := slices.Concat(keptTags, keptFor[name])
	if ts.Metric.Type == metrics.Rate || ts.Metric.Type == metrics.Trend {
		keys = append(keys, metric.Classes(name)...)
	}
	for _, slo := range c.slos {
		if slo.Metric == name {
			for _, l := range slo.Selector {
				keys = append(keys, l.Key)
			}
		}
	}
	var labels []string
	for i, k := range keys {
		if v := tags.get(k); v != "" && !slices.Contains(keys[:i], k) {
			labels = append(labels, k, maskTag(v))
		}
	}
	probe := maskTag(name)
	if ts.Metric.Type == metrics.Rate {
		probe += metric.RateTotal
	}
	if _, known := c.byKey[metric.NewSeries(probe, "", labels...).Key()]; known {
		return labels
	}
	called := metric.Series{Name: name, Labels: []metric.Label{{Key: "name", Value: tags.get("name")}}}.Key()
	if c.count[name]++; c.count[name] <= metric.MaxSeries {
		c.named[called] = true
		return labels
	}
	labels = []string{metric.OverflowLabel, "true"}
	for _, k := range keptTags {
		if v := tags.get(k); v != "" && (k == scenarioTag || c.named[called]) {
			labels = append(labels, k, maskTag(v))
		}
	}
	return labels
}

// selects reports whether an SLO judges samples with these tags. That of a flow judges the
// flow's own; of a flow without a name, those of setup() too.
func (slo judgedSLO) selects(tags *tagSet) bool {
	if slo.Flow != "" && tags.scenario != slo.scenario {
		return false
	}
	for _, l := range slo.Selector {
		if tags.get(l.Key) != l.Value {
			return false
		}
	}
	return true
}

func unit(m *metrics.Metric) string {
	switch m.Contains {
	case metrics.Time:
		return "ms"
	case metrics.Data:
		return "By"
	}
	return ""
}
