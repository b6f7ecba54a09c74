// SPDX-License-Identifier: Apache-2.0

package metric

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	boundary "assay.dev/assay/internal/foreign"
	"assay.dev/assay/internal/mask"
)

// Decode decodes one ExportMetricsServiceRequest of our own frames. It returns an error
// that names the metric for what Encode does not write.
func Decode(data []byte) ([]Frame, error) { return new(Decoder).Decode(data) }

// Decoder decodes many requests. It caches their series and reuses all other memory:
// the result of a call is valid until the next call, except its series, which remain
// valid.
//
// It parses the wire format itself: the library allocates an object for every label of
// every point, which takes longer than the rest of judging a record. Field numbers are
// those of OTLP's .proto files.
type Decoder struct {
	// Masked says that texts which may hold a secret of this process are masked: those that the
	// target or a script can choose. Series may then be equal that were not.
	Masked bool

	series         map[string]decoded // by name, unit and attributes as encoded
	keys           int                // bytes of the keys of series
	key            []byte             // scratch, key of series
	data           [][]byte           // scratch, data messages of one metric
	bounds, counts []uint64           // scratch, of one histogram
	points         []Point
	frames         []Frame
	hists          []*histBuffer
	taken          int // number of hists in use
	buckets        int // number of buckets in the exponential histograms of this call

	changed bool // a text of this call was masked

	export  *Export  // receives the points of foreign senders; nil: they are an error
	foreign *foreign // the foreign sender whose resource is read; nil: our own
}

// Decode is like the function Decode.
func (d *Decoder) Decode(data []byte) (_ []Frame, err error) {
	defer boundary.Guard(&err)
	d.points, d.frames, d.taken, d.buckets, d.changed = d.points[:0], d.frames[:0], 0, 0, false
	if err := eachMessage(data, 1, d.resource); err != nil {
		return nil, fmt.Errorf("decode frames: %w", err)
	}
	return d.frames, nil
}

// resource reads a message ResourceMetrics.
func (d *Decoder) resource(b []byte) error {
	var who sender
	err := eachMessage(b, 1, func(resource []byte) error { return who.read(resource) })
	switch {
	case err != nil:
		return err
	case who.own:
		d.foreign = nil
	case d.export == nil:
		return errors.New("a resource without " + attrSource)
	default:
		if d.foreign, err = newForeign(b, who.service); err != nil {
			return err
		}
	}
	first := len(d.points)
	if err := eachMessage(b, 2, d.scope); err != nil || d.foreign != nil {
		return err
	}
	if service, foreign := strings.CutPrefix(who.frame.Source, foreignPrefix); foreign {
		who.frame.Source = foreignPrefix + d.shown(service)
	}
	who.frame.Points = slices.Clip(d.points[first:])
	d.frames = append(d.frames, who.frame)
	return nil
}

// Changed reports whether a text of the last call's frames was masked, so that they differ from
// the message.
func (d *Decoder) Changed() bool { return d.changed }

// shown is a text that may have a secret of this process.
func (d *Decoder) shown(text string) string {
	if !d.Masked {
		return text
	}
	masked := mask.Text(text)
	d.changed = d.changed || masked != text
	return masked
}

// scope reads a message ScopeMetrics.
func (d *Decoder) scope(b []byte) error {
	if d.foreign != nil {
		if err := d.foreign.readScope(b); err != nil {
			return err
		}
	}
	return eachMessage(b, 2, d.metric)
}

// sender holds the attributes of a resource that we set, and the name of a foreign one.
type sender struct {
	own     bool // it is this program, which numbers its frames
	frame   Frame
	service string
}

func (s *sender) read(b []byte) error {
	return eachMessage(b, 1, func(encoded []byte) error {
		a, err := readAttribute(encoded)
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
		case attrLength:
			s.frame.Length = int64(number)
		case attrClosing:
			s.frame.Closing = a.kind == anyBool && a.number != 0
		case attrService:
			s.service = text
		}
		return nil
	})
}
