package metric

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"
)

// Decode reads one ExportMetricsServiceRequest. What it cannot represent is an
// error that names the metric: cumulative sums, histograms with explicit
// bounds, negative observations in buckets, summaries.
func Decode(data []byte) ([]Frame, error) { return new(Decoder).Decode(data) }

// Decoder decodes many requests. It keeps their series and reuses the rest, so
// that what a call returns is valid until the next one; series stay.
//
// It reads the wire format itself: the library would make an object of every
// label of every point, which takes longer than all the rest of judging a
// record. The numbers are the field numbers of OTLP's .proto files.
type Decoder struct {
	series map[string]Series // by what stands on the wire: name, unit, attributes
	key    []byte            // into series
	data   [][]byte          // of one metric
	timed  []timed
	points []Point
	frames []Frame
	hists  []*histBuffer
	taken  int // of hists
}

// timed is a point with the end of its interval.
type timed struct {
	end   uint64 // unix ns
	point Point
}

// Decode is the function of that name.
func (d *Decoder) Decode(data []byte) ([]Frame, error) {
	d.points, d.frames, d.taken = d.points[:0], d.frames[:0], 0
	for b := data; len(b) > 0; {
		f, rest, err := next(b)
		if b = rest; err == nil && f.is(1, protowire.BytesType) {
			err = d.resource(f.bytes)
		}
		if err != nil {
			return nil, fmt.Errorf("decode frames: %w", err)
		}
	}
	return d.frames, nil
}

// resource reads a message ResourceMetrics.
func (d *Decoder) resource(b []byte) error {
	var who sender
	d.timed = d.timed[:0]
	for len(b) > 0 {
		f, rest, err := next(b)
		b = rest
		switch {
		case err != nil:
		case f.is(1, protowire.BytesType):
			err = who.read(f.bytes)
		case f.is(2, protowire.BytesType):
			err = d.scope(f.bytes)
		}
		if err != nil {
			return err
		}
	}
	if !who.own {
		d.foreign(who.service)
		return nil
	}
	first := len(d.points)
	for _, t := range d.timed {
		d.points = append(d.points, t.point)
	}
	who.frame.Points = slices.Clip(d.points[first:])
	d.frames = append(d.frames, who.frame)
	return nil
}

// sender is what a resource's attributes say.
type sender struct {
	own     bool // of this program, which numbers its frames
	frame   Frame
	service string
}

func (s *sender) read(b []byte) error {
	for len(b) > 0 {
		f, rest, err := next(b)
		if err != nil {
			return err
		}
		if b = rest; !f.is(1, protowire.BytesType) {
			continue
		}
		a, err := readAttribute(f.bytes)
		if err != nil {
			return err
		}
		text, number := "", uint64(0)
		if a.kind == anyString {
			text = a.text
		}
		if a.kind == anyInt {
			number = a.number
		}
		switch a.key {
		case attrSource:
			s.frame.Source, s.own = text, true
		case attrSequence:
			s.frame.Sequence = number
		case attrSecond:
			s.frame.Second = int64(number)
		case attrClosing:
			s.frame.Closing = a.kind == anyBool && a.number != 0
		case attrService:
			s.service = text
		}
	}
	return nil
}

// foreign makes a frame of each second of a foreign sender.
func (d *Decoder) foreign(service string) {
	slices.SortStableFunc(d.timed, func(a, b timed) int { return cmp.Compare(a.second(), b.second()) })
	for i := 0; i < len(d.timed); {
		first, second := len(d.points), d.timed[i].second()
		for ; i < len(d.timed) && d.timed[i].second() == second; i++ {
			d.points = append(d.points, d.timed[i].point)
		}
		d.frames = append(d.frames, Frame{Source: foreignPrefix + service, Second: second, Points: slices.Clip(d.points[first:])})
	}
}

// second is the one in which the interval ends.
func (t timed) second() int64 { return (int64(min(t.end, math.MaxInt64)) - 1) / nanos }

// scope reads a message ScopeMetrics.
func (d *Decoder) scope(b []byte) error {
	for len(b) > 0 {
		f, rest, err := next(b)
		if b = rest; err == nil && f.is(2, protowire.BytesType) {
			err = d.metric(f.bytes)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
