// SPDX-License-Identifier: Apache-2.0

package metric

import (
	"errors"
	"fmt"
	"time"
)

// Taken is what an Accumulation makes of one request.
type Taken struct {
	// Steps are to be recorded in their order. Their states count only once committed, so
	// that a sender may repeat a request of which not all could be recorded.
	Steps []Step
	// Notices say which points are refused, each reason once in a run.
	Notices []string
	// Response is the body of the answer to the sender.
	Response []byte
}

// Step is one frame, and the state of the accumulation after it.
type Step struct {
	Frame   Frame
	index   map[string]int // of its points, by the key of their series
	of      *Accumulation
	updates []update
}

type update struct {
	series digest
	total  total
	stream digest
	end    uint64
	ranges []Range // of the point
}

// Commit makes the state after the frame the current one.
func (s Step) Commit() {
	for _, u := range s.updates {
		if u.total.points <= s.of.series[u.series].points {
			continue // a later point of the request is in an earlier frame
		}
		s.of.buckets += u.total.size() - s.of.series[u.series].size()
		s.of.series[u.series] = u.total
		s.of.streams[u.stream] = s.of.streams[u.stream].at(u.end)
		for _, r := range u.ranges {
			s.of.ranges[[2]float64{r.Low, r.High}] = true
		}
	}
}

// add adds a point. Series that differ by nothing but a secret are one in the record.
func (s *Step) add(p Point) {
	key := fmt.Sprint(p.Kind, p.Series.Key())
	i, known := s.index[key]
	switch {
	case !known:
		s.index[key] = len(s.Frame.Points)
		s.Frame.Points = append(s.Frame.Points, p)
	case p.Kind == Histogram:
		sum := s.Frame.Points[i].Hist.Clone() // which may be a total of the accumulation
		sum.Merge(p.Hist)
		s.Frame.Points[i].Hist = sum
	case p.Kind == Counter:
		s.Frame.Points[i].Value += p.Value
	default:
		s.Frame.Points[i].Value = p.Value
	}
}

// size is the memory of a total's histogram, in buckets.
func (t total) size() int {
	if t.hist == nil {
		return 0
	}
	return len(t.hist.counts) + 3*len(t.hist.ranges())
}

func (s stream) at(end uint64) stream {
	if end > s.last {
		return stream{last: end, before: s.last}
	}
	return s
}

// taking makes the steps of one request.
type taking struct {
	of      *Accumulation
	now     time.Time
	totals  map[digest]total // of the series in the request, after the points so far
	streams map[digest]stream
	created int                 // series that are new
	buckets int                 // of all totals
	ranges  map[[2]float64]bool // that are new
	refused refusals
	steps   []*Step
	byFrame map[frameKey]*Step
	newest  map[*foreign]uint64 // end of the latest point that counts, unix ns
	senders []*foreign          // that sent such points, in the order of the request
}

type frameKey struct {
	source         string
	second, length int64
}

// Take makes frames of the foreign points of a request that arrived now. It changes
// nothing before Step.Commit.
func (a *Accumulation) Take(e *Export, now time.Time) (t Taken) {
	if len(e.points) == 0 && len(e.refused) == 0 {
		return t
	}
	in := &taking{
		of: a, now: now, buckets: a.buckets, totals: map[digest]total{}, streams: map[digest]stream{},
		ranges: map[[2]float64]bool{}, byFrame: map[frameKey]*Step{}, newest: map[*foreign]uint64{},
	}
	for key, r := range e.refused {
		in.refused.count(key, r)
	}
	var bases []update
	for _, p := range e.points {
		step, u, err := in.point(p)
		var reason refused
		switch {
		case err == nil:
			step.updates = append(step.updates, u)
			in.counts(p)
		case errors.Is(err, errBase):
			bases = append(bases, u)
			in.counts(p)
		case errors.As(err, &reason):
			in.refused.add(p.from.source, p.point.Series.Name, reason.reason, reason)
		}
	}
	in.report()
	for i, s := range in.steps {
		if i == len(in.steps)-1 {
			s.updates = append(s.updates, bases...)
		}
		t.Steps = append(t.Steps, *s)
	}
	for _, key := range in.refused.inOrder() {
		if _, known := a.reported[key]; !known && len(a.reported) < maxRefusals {
			a.reported.count(key, in.refused[key])
			t.Notices = append(t.Notices, key.text(in.refused[key]))
		}
	}
	t.Response = in.refused.response()
	return t
}

// point adds one point to its frame, which it returns.
func (in *taking) point(p measured) (*Step, update, error) {
	u := update{series: p.series, stream: p.stream, end: p.end}
	if p.point.Hist != nil {
		u.ranges = p.point.Hist.ranges()
	}
	if off := in.now.Sub(time.Unix(0, int64(p.end))); off.Abs() > maxClockError { // also where it overflows
		return nil, u, refused{fmt.Errorf("its time differs by more than %s from this host's", maxClockError), reasonTime}
	}
	before, known := in.totals[p.series]
	if !known {
		before, known = in.of.series[p.series]
	}
	exported, ok := in.streams[p.stream]
	if !ok {
		exported = in.of.streams[p.stream]
	}
	after, up, err := in.of.advance(p, before, known, exported)
	if err != nil && !errors.Is(err, errBase) {
		return nil, u, err
	}
	grown := after.size() - before.size()
	switch {
	case !known && len(in.of.series)+in.created >= maxForeignSeries:
		return nil, u, refused{fmt.Errorf("more than %d series of other senders", maxForeignSeries), reasonSeries}
	case in.buckets+grown > maxForeignBuckets:
		return nil, u, refused{fmt.Errorf("more than %d buckets in the histograms of other senders", maxForeignBuckets), reasonSeries}
	}
	if !in.admit(u.ranges) {
		return nil, u, refused{fmt.Errorf("more than %d distinct buckets of other senders", maxForeignRanges), reasonBuckets}
	}
	if !known {
		in.created++
	}
	in.buckets += grown
	in.totals[p.series], in.streams[p.stream], u.total = after, exported.at(p.end), after
	if err != nil {
		return nil, u, err
	}
	first, last := up.seconds()
	step := in.frame(p.from.source, last, last-first+1)
	if up.point.Kind == Gauge {
		up.point.Series = up.point.Series.with(attrInstance, p.from.instance)
	}
	for _, p := range convert(up.point, p.k6) {
		step.add(p)
	}
	return step, u, nil
}

// admit notes the explicit buckets of a histogram; false if there are too many with those
// before.
func (in *taking) admit(ranges []Range) bool {
	var more [][2]float64
	for _, r := range ranges {
		if key := [2]float64{r.Low, r.High}; !in.of.ranges[key] && !in.ranges[key] {
			more = append(more, key)
		}
	}
	if len(more) > 0 && len(in.of.ranges)+len(in.ranges)+len(more) > maxForeignRanges {
		return false
	}
	for _, key := range more {
		in.ranges[key] = true
	}
	return true
}

// counts notes that a point of a sender counts.
func (in *taking) counts(p measured) {
	if in.newest[p.from] == 0 {
		in.senders = append(in.senders, p.from)
	}
	in.newest[p.from] = max(in.newest[p.from], p.end)
}

// frame is the frame of a source for an interval of some length, in seconds.
func (in *taking) frame(source string, second, length int64) *Step {
	if length == 1 {
		length = 0
	}
	key := frameKey{source, second, length}
	if in.byFrame[key] == nil {
		in.byFrame[key] = &Step{of: in.of, index: map[string]int{}, Frame: Frame{Source: source, Second: second, Length: length}}
		in.steps = append(in.steps, in.byFrame[key])
	}
	return in.byFrame[key]
}

// report adds what is known of the request as a whole, in the second of its arrival.
func (in *taking) report() {
	last := func(source string) *Step {
		key := frameKey{source: "arrival of " + source}
		if in.byFrame[key] == nil {
			in.byFrame[key] = &Step{of: in.of, Frame: Frame{Source: source, Second: in.now.Unix()}}
			in.steps = append(in.steps, in.byFrame[key])
		}
		return in.byFrame[key]
	}
	for _, from := range in.senders {
		delay := in.now.Sub(time.Unix(0, int64(in.newest[from])))
		f := &last(from.source).Frame
		f.Points = append(f.Points, GaugePoint(Of(ForeignDelay, attrInstance, from.instance), float64(delay.Microseconds())/1e3))
	}
	for _, key := range in.refused.inOrder() {
		f := &last(key.source).Frame
		f.Points = append(f.Points, CounterPoint(Of(ForeignRefused, "metric", key.metric, "reason", key.reason), float64(in.refused[key].points)))
	}
}

// with is the series with one label more; an empty value adds none.
func (s Series) with(key, value string) Series {
	kv := make([]string, 0, 2*len(s.Labels)+2)
	for _, l := range s.Labels {
		kv = append(kv, l.Key, l.Value)
	}
	return NewSeries(s.Name, s.Unit, append(kv, key, value)...)
}
