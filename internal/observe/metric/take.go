// SPDX-License-Identifier: Apache-2.0

package metric

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"assay.dev/assay/internal/mask"
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
	index   map[string]int // positions of the frame's points, by the key of their series
	of      *Accumulation
	updates []update
}

type update struct {
	series digest
	total  total
	stream digest
	end    uint64
	ranges []Range // the point's explicit buckets
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

func (s *Step) append(p Point) { s.Frame.Points = append(s.Frame.Points, p) }

// add adds a point. Series that differ by nothing but a secret are one in the record.
func (s *Step) add(p Point) {
	key := fmt.Sprint(p.Kind, p.Series.Key())
	i, known := s.index[key]
	switch {
	case !known:
		s.index[key] = len(s.Frame.Points)
		s.append(p)
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
	totals  map[digest]total // totals of the series in the request, after the points so far
	streams map[digest]stream
	created int                 // series that are new
	buckets int                 // buckets in all totals
	ranges  map[[2]float64]bool // explicit buckets that are new
	refused refusals
	steps   []*Step
	byFrame map[frameKey]*Step
	newest  map[*foreign]uint64 // end of the latest point that counts, unix ns
	senders []*foreign          // senders of points that count, in the order of the request
}

type frameKey struct {
	source         string
	second, length int64
	arrival        bool // the frame is about the request as a whole
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
	return in.step(frameKey{source: source, second: second, length: length})
}

// arrival is the frame of a source for what is known of the request as a whole, in the second
// of its arrival.
func (in *taking) arrival(source string) *Step {
	return in.step(frameKey{source: source, second: in.now.Unix(), arrival: true})
}

func (in *taking) step(key frameKey) *Step {
	s := in.byFrame[key]
	if s == nil {
		s = &Step{of: in.of, index: map[string]int{}, Frame: Frame{Source: key.source, Second: key.second, Length: key.length}}
		in.byFrame[key], in.steps = s, append(in.steps, s)
	}
	return s
}

// report adds what is known of the request as a whole.
func (in *taking) report() {
	for _, from := range in.senders {
		delay := in.now.Sub(time.Unix(0, int64(in.newest[from])))
		in.arrival(from.source).append(GaugePoint(Of(ForeignDelay, attrInstance, from.instance), float64(delay.Microseconds())/1e3))
	}
	for _, key := range in.refused.inOrder() {
		in.arrival(key.source).append(CounterPoint(Of(ForeignRefused, "metric", key.metric, "reason", key.reason), float64(in.refused[key].points)))
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

// k6's output adds to the samples of a rate, which it counts in one counter NAME.total,
// whether they were 0 (K6_OTEL_SINGLE_COUNTER_FOR_RATE, the default).
const k6Condition, k6NonZero, k6Zero = "condition", "nonzero", "zero"

// convert gives the rates of k6's output our form: NAME.total without the condition, and
// NAME.occurred for samples that were not 0.
func convert(p Point, k6 bool) []Point {
	name, rate := strings.CutSuffix(p.Series.Name, RateTotal)
	condition := p.Series.Label(k6Condition)
	if !k6 || !rate || p.Kind != Counter || condition != k6NonZero && condition != k6Zero {
		return []Point{p}
	}
	p.Series.Labels = slices.DeleteFunc(slices.Clone(p.Series.Labels), func(l Label) bool { return l.Key == k6Condition })
	if condition == k6Zero {
		return []Point{p}
	}
	occurred := p
	occurred.Series.Name = name + RateOccurred
	return []Point{p, occurred}
}

// Reasons for which points of foreign senders are not recorded: values of the label
// reason of ForeignRefused.
const (
	reasonKind       = "kind"       // no counter, gauge or histogram can be made of it
	reasonBuckets    = "buckets"    // a histogram that contradicts itself, or has negative observations
	reasonValue      = "value"      // not a finite number, or a decrease
	reasonTime       = "time"       // it does not say when it was measured, or that is not now
	reasonAttributes = "attributes" // too many or too long
	reasonSeries     = "series"     // more series than are kept
)

// maxRefusals bounds the distinct refusals that are told apart, by metric and reason.
const maxRefusals = 200

type refusalKey struct{ source, metric, reason string }

// refusal counts the points that were refused for one reason.
type refusal struct {
	points uint64
	text   string // about the first of them
}

// refusals are by source, metric and reason.
type refusals map[refusalKey]refusal

func (r *refusals) add(source, name, reason string, err error) {
	r.count(refusalKey{source, mask.Cut(name, maxServiceText), reason}, refusal{1, err.Error()})
}

// count adds refusals. Further metrics than can be told apart are counted without their
// name.
func (r *refusals) count(key refusalKey, more refusal) {
	if *r == nil {
		*r = refusals{}
	}
	if _, known := (*r)[key]; !known && len(*r) >= maxRefusals {
		key.metric = ""
	}
	(*r)[key] = refusal{(*r)[key].points + more.points, cmp.Or((*r)[key].text, more.text)}
}

// inOrder lists the keys in a fixed order.
func (r refusals) inOrder() []refusalKey {
	return slices.SortedFunc(maps.Keys(r), func(a, b refusalKey) int {
		return cmp.Or(cmp.Compare(a.source, b.source), cmp.Compare(a.metric, b.metric), cmp.Compare(a.reason, b.reason))
	})
}

// text is what is said of a refusal.
func (k refusalKey) text(r refusal) string {
	return fmt.Sprintf("%s: metric %q: %s", k.source, k.metric, r.text)
}

// response is an ExportMetricsServiceResponse that tells the sender how many of its points
// were refused, and why the first of them; empty: all points were accepted.
func (r refusals) response() []byte {
	points, first := uint64(0), ""
	for _, key := range r.inOrder() {
		points, first = points+r[key].points, cmp.Or(first, key.text(r[key]))
	}
	if points == 0 {
		return nil
	}
	partial := protowire.AppendVarint(protowire.AppendTag(nil, 1, protowire.VarintType), points)
	partial = protowire.AppendString(protowire.AppendTag(partial, 2, protowire.BytesType), validText(first))
	return protowire.AppendBytes(protowire.AppendTag(nil, 1, protowire.BytesType), partial)
}
