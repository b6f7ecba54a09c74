package metric

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"
)

// Decode decodes one ExportMetricsServiceRequest. It returns an error that names the
// metric for what it cannot represent: cumulative sums, histograms with explicit
// bounds, negative observations in buckets, summaries.
func Decode(data []byte) ([]Frame, error) { return new(Decoder).Decode(data) }

// Decoder decodes many requests. It caches their series and reuses all other memory:
// the result of a call is valid until the next call, except its series, which remain
// valid.
//
// It parses the wire format itself: the library allocates an object for every label of
// every point, which takes longer than the rest of judging a record. Field numbers are
// those of OTLP's .proto files.
type Decoder struct {
	series map[string]Series // by name, unit and attributes as encoded
	key    []byte            // scratch, key of series
	data   [][]byte          // scratch, data messages of one metric
	timed  []timed
	points []Point
	frames []Frame
	hists  []*histBuffer
	taken  int // number of hists in use
}

// timed is a point with the end of its interval.
type timed struct {
	end   uint64 // unix ns
	point Point
}

// Decode is like the function Decode.
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

// sender holds the attributes of a resource.
type sender struct {
	own     bool // it is this program, which numbers its frames
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

// foreign makes a frame for each second of a foreign sender.
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

// second is the unix second in which the interval ends.
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
