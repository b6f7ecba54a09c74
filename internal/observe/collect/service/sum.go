package service

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	dto "github.com/prometheus/client_model/go"

	"assay.dev/assay/internal/observe/collect/scrape"
	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/observe/record"
)

// keepGauges is how long the last gauges of an instance that does not answer are used. An
// overloaded instance may miss a few scrapes, and still holds its connections; one that has
// ended is dropped from the list within about half of this time.
const keepGauges = 10 * time.Second

// scraped is what one scrape of an instance returned.
type scraped struct {
	reading reading
	builds  []record.Build // sorted
	other   bool           // it is another instance than those at the start, by its builds
}

// instance is the state of one instance of the service.
type instance struct {
	last reading   // reading of the last scrape that succeeded; nil: none yet
	at   time.Time // time of that scrape; if there is none, of the first attempt
}

// instances adds up the readings of all instances, second by second.
type instances map[*scrape.Endpoint]instance

// second is the sum over all instances in one second.
type second struct {
	sum      reading // gauges, and increases of counters
	answered int     // instances
	silent   bool    // an instance has not answered for longer than keepGauges
	others   int     // instances that are none of the start's by their builds, or do not tell them
}

// add adds up one answer of each instance, and forgets those that have no answer because
// they are no longer listed.
//
// Counters: the increase of each instance since its own last successful scrape. The first
// reading of an instance is only a base, because what it counted before may be older than
// the run. One that did not answer catches up with its next answer.
//
// Gauges: their sum would be too low without an instance that did not answer, for example
// the limit of the pool, and the pool would seem to be full. So the instance's last gauges
// are used for a few seconds. After that, or if the instance never answered, the second
// has no gauges, which readers of the record take as unknown rather than low.
func (all instances) add(now time.Time, answers []scrape.Answer[scraped]) (s second) {
	s.sum = reading{}
	complete := true
	listed := make(map[*scrape.Endpoint]bool, len(answers))
	for _, a := range answers {
		listed[a.Endpoint] = true
		i, known := all[a.Endpoint]
		if !known {
			i.at = now
		}
		late := now.Sub(i.at) > keepGauges
		switch {
		case a.Err == nil:
			s.answered++
			if a.Value.other {
				s.others++
			}
			s.sum.add(a.Value.reading.since(i.last))
			i = instance{a.Value.reading, now}
		case i.last == nil || late:
			complete = false
			if s.silent = s.silent || late; late {
				s.others++
			}
		default:
			s.sum.add(i.last.gauges())
		}
		all[a.Endpoint] = i
	}
	for e, i := range all {
		if !listed[e] {
			if i.last == nil {
				s.others++
			}
			delete(all, e)
		}
	}
	switch {
	case s.answered == 0: // nothing was measured in this second
		s.sum = reading{}
	case !complete:
		s.sum = s.sum.counters()
	}
	return s
}

func isGauge(name string) bool {
	d, _ := metric.Find(name)
	return d.Kind == metric.Gauge
}

// since returns the gauges of a reading, and the increases of counters since the reading
// before. If a counter decreased, the instance was restarted and counts from 0. A class of
// errors that the reading before did not have was 0 then: its counter appears with the
// first error.
func (r reading) since(before reading) reading {
	d := r.gauges()
	for name, now := range r.counters() {
		if previous, ok := before[name]; ok || before != nil && strings.HasPrefix(name, errorPrefix) {
			d[name] = now - previous
			if now < previous {
				d[name] = now
			}
		}
	}
	return d
}

func (r reading) gauges() reading { return r.of(true) }

func (r reading) counters() reading { return r.of(false) }

func (r reading) of(gauge bool) reading {
	part := reading{}
	for name, v := range r {
		if isGauge(name) == gauge {
			part[name] = v
		}
	}
	return part
}

func (r reading) add(other reading) {
	for name, v := range other {
		r[name] += v
	}
}

// points returns the gauges of a reading and the increases of counters, in the order of
// names, then the errors by class.
func (r reading) points() (points []metric.Point) {
	done := map[string]bool{}
	for _, name := range names {
		v, ok := r[name]
		if !ok || done[name] || strings.HasPrefix(name, errorPrefix) {
			continue
		}
		done[name] = true
		if isGauge(name) {
			points = append(points, metric.GaugePoint(metric.Of(name), v))
		} else {
			points = append(points, metric.CounterPoint(metric.Of(name), v))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(r)) {
		if class, ok := strings.CutPrefix(name, errorPrefix); ok && r[name] > 0 {
			points = append(points, metric.CounterPoint(metric.Of(metric.ErrorsByClass, "where", metric.AtService, "class", class), r[name]))
		}
	}
	if ms, ok := r.fastest(); ok {
		points = append(points, metric.GaugePoint(metric.Of(metric.ServiceQueryFastest), ms))
	}
	return points
}

// withinBound is the prefix of a reading's keys that count the statements within a bucket's
// bound, which follows in s. They are no metrics of the catalogue, and not sent.
const withinBound = "statements within "

// maxBounds bounds the buckets of a histogram that are read.
const maxBounds = 1000

// countWithin adds a histogram's cumulative counts to a reading. unit is that of its
// bounds, in ms.
func (r reading) countWithin(m *dto.Metric, unit float64) {
	buckets := m.GetHistogram().GetBucket()
	if len(buckets) > maxBounds {
		return
	}
	for _, b := range buckets {
		r[withinBound+strconv.FormatFloat(b.GetUpperBound()*unit, 'g', -1, 64)] += b.GetCumulativeCountFloat() + float64(b.GetCumulativeCount())
	}
}

// fastest is the least bound within which the fastest tenth of a second's statements ended;
// false if there was no statement, or there are no buckets.
func (r reading) fastest() (ms float64, ok bool) {
	var bounds []float64
	for key := range r {
		if text, is := strings.CutPrefix(key, withinBound); is {
			if ms, err := strconv.ParseFloat(text, 64); err == nil {
				bounds = append(bounds, ms)
			}
		}
	}
	slices.Sort(bounds)
	all := r[metric.ServiceQueries]
	for _, ms := range bounds {
		if n := r[withinBound+strconv.FormatFloat(ms, 'g', -1, 64)]; all > 0 && n >= metric.FastestShare*all {
			return ms, ms >= 0 && ms < 1e9 // not the bucket of all
		}
	}
	return 0, false
}

// buildSuffix ends the names of gauges whose labels describe a build of a program: a
// convention of the Prometheus client library and servers.
const buildSuffix = "_build_info"

// Limits of what is recorded, because a service may expose anything under such a name.
const (
	maxBuilds = record.MaxBuilds
	maxLabels = 16
	maxText   = 200 // bytes of the name of the metric or of a label, or of its value
)

func buildsIn(families scrape.Families) (all []record.Build) {
	for name, family := range families {
		if !strings.HasSuffix(name, buildSuffix) {
			continue
		}
		for _, m := range family.GetMetric() {
			b := record.Build{Metric: name, Labels: map[string]string{}}
			fits := len(name) <= maxText && len(m.GetLabel()) > 0 && len(m.GetLabel()) <= maxLabels
			for _, l := range m.GetLabel() {
				b.Labels[l.GetName()] = l.GetValue()
				fits = fits && max(len(l.GetName()), len(l.GetValue())) <= maxText
			}
			if fits {
				all = append(all, b)
			}
		}
	}
	return sorted(all)
}

// sorted returns the first builds by metric and labels, each once: one more than are recorded,
// if there are more.
func sorted(all []record.Build) []record.Build {
	slices.SortFunc(all, compareBuilds)
	all = slices.CompactFunc(all, func(a, b record.Build) bool { return compareBuilds(a, b) == 0 })
	return all[:min(len(all), maxBuilds+1)]
}

func compareBuilds(a, b record.Build) int {
	return cmp.Or(strings.Compare(a.Metric, b.Metric), strings.Compare(fmt.Sprint(a.Labels), fmt.Sprint(b.Labels)))
}

// builds are what the instances reported that were read at the start.
type builds struct {
	all  []record.Build // sorted, each once; one more than are recorded if there are too many to tell
	each [][]string     // the metrics of each instance that reported any
}

func (b *builds) add(reported []record.Build) {
	b.all = sorted(slices.Concat(b.all, reported))
	var metrics []string
	for _, r := range reported {
		metrics = append(metrics, r.Metric)
	}
	if len(metrics) > 0 {
		b.each = append(b.each, metrics)
	}
}

// other reports whether an instance is none of these by what it reports: a build that none of
// them had, or not all of the metrics of any of them.
func (b builds) other(reported []record.Build) bool {
	metrics := map[string]bool{}
	for _, r := range reported {
		if _, found := slices.BinarySearchFunc(b.all, r, compareBuilds); !found {
			return true
		}
		metrics[r.Metric] = true
	}
	like := func(one []string) bool {
		return !slices.ContainsFunc(one, func(name string) bool { return !metrics[name] })
	}
	return len(b.all) > maxBuilds || len(b.each) > 0 && !slices.ContainsFunc(b.each, like)
}
