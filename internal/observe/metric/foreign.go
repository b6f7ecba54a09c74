// SPDX-License-Identifier: Apache-2.0

package metric

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"

	"assay.dev/assay/internal/mask"
)

// Bounds on one request of foreign senders, and on the texts that identify a series.
const (
	maxPoints       = 1 << 17
	maxPointBuckets = 1 << 22 // buckets of all exponential histograms together
	maxAttributes   = 128     // as OpenTelemetry's SDKs limit them
	maxSeriesText   = 8 << 10 // bytes of a point's name, unit and attributes
	maxServiceText  = 255     // bytes of a service's or an instance's name
)

// unknownService is the name of a sender without one, as in OpenTelemetry's SDKs.
const unknownService = "unknown_service"

const attrInstance = "service.instance.id"

// Export is the content of one request.
type Export struct {
	Frames  []Frame    // our own
	points  []measured // points of foreign senders, in their order
	refused refusals   // points of foreign senders that cannot be represented
}

// DecodeExport decodes one ExportMetricsServiceRequest with frames of our own or points
// of foreign senders, which an Accumulation makes frames of. Points that a frame cannot
// represent are counted; an error is for what is malformed, or too large.
func DecodeExport(data []byte) (*Export, error) {
	e := &Export{}
	frames, err := (&Decoder{export: e, Masked: true}).Decode(data)
	if err != nil {
		return nil, err
	}
	e.Frames = frames
	return e, nil
}

// Foreign is whether the request holds anything of other senders.
func (e *Export) Foreign() bool { return len(e.points)+len(e.refused) > 0 }

// digest identifies a series or a stream of a foreign sender.
type digest [sha256.Size]byte

// measured is one point as a foreign sender measured it.
type measured struct {
	from *foreign
	// stream is the digest of everything that identifies a metric of one sender, and of
	// the start of cumulative points: the same metric after a restart is another stream.
	stream     digest
	series     digest // digest of the stream and the point's attributes
	start, end uint64 // unix ns; start 0: not known
	cumulative bool
	k6         bool // by k6's output, whose rates have a form of their own
	point      Point
}

// foreign is one resource of a request: a foreign sender.
type foreign struct {
	source   string
	instance string
	resource digest
	scope    []byte // encoded InstrumentationScope
	k6       bool   // the scope is that of k6's output
}

// newForeign reads the resource of a message ResourceMetrics.
func newForeign(b []byte, service string) (*foreign, error) {
	f := &foreign{source: foreignPrefix + cmp.Or(mask.Cut(service, maxServiceText), unknownService)}
	var attributes [][]byte
	err := eachMessage(b, 1, func(resource []byte) error {
		return eachMessage(resource, 1, func(encoded []byte) error {
			a, err := readAttribute(encoded)
			if a.key == attrInstance {
				f.instance = mask.Cut(a.label(), maxServiceText)
			}
			attributes = append(attributes, encoded)
			return err
		})
	})
	f.resource = digestOf(sorted(attributes)...)
	return f, err
}

// readScope reads the scope of a message ScopeMetrics.
func (f *foreign) readScope(b []byte) error {
	f.scope, f.k6 = nil, false
	return eachMessage(b, 1, func(scope []byte) error {
		f.scope = append(f.scope, scope...) // several messages are merged
		return eachMessage(scope, 1, func(name []byte) error {
			f.k6 = string(name) == "k6"
			return nil
		})
	})
}

func sorted(all [][]byte) [][]byte {
	slices.SortFunc(all, bytes.Compare)
	return all
}

// digestOf is the digest of a list of texts.
func digestOf(parts ...[]byte) (d digest) {
	h, size := sha256.New(), []byte{}
	for _, part := range parts {
		size = binary.AppendUvarint(size[:0], uint64(len(part)))
		h.Write(size)
		h.Write(part)
	}
	h.Sum(d[:0])
	return d
}

// foreignContent reads the points of one metric of a foreign sender.
func (d *Decoder) foreignContent(kind protowire.Number, name []byte) error {
	h, err := d.header(kind)
	if err != nil {
		return err
	}
	form := fmt.Sprint(kind, " ", h.temporality, " ", h.monotonic)
	prefix, unfit := len(d.key), h.unfit(kind)
	read := kind
	if unfit != nil {
		read = 0 // only counts the points
	}
	return d.eachPoint(read, func(p dataPoint) error {
		if unfit != nil {
			d.export.refused.add(d.foreign.source, string(name), reasonKind, unfit)
			return nil
		}
		switch {
		case len(d.export.points) >= maxPoints:
			return fmt.Errorf("more than %d points in one request", maxPoints)
		case d.buckets > maxPointBuckets:
			return fmt.Errorf("more than %d buckets in one request", maxPointBuckets)
		}
		attributes := keyParts(d.key[prefix:])
		if reason, err := p.check(len(attributes), len(d.key)); err != nil {
			d.export.refused.add(d.foreign.source, p.point.Series.Name, reason, err)
			return nil
		}
		if p.missing {
			return nil // the sender says that it has no value
		}
		if h := p.point.Hist; h != nil && h.sum-h.sum != 0 {
			h.sum = math.NaN() // not known
		}
		m := measured{
			from: d.foreign, start: p.start, end: p.end, point: p.point,
			cumulative: h.temporality == temporalityCumulative, k6: d.foreign.k6,
		}
		identity := [][]byte{d.foreign.resource[:], d.foreign.scope, []byte(form), d.key[:prefix]}
		if m.cumulative {
			identity = append(identity, binary.BigEndian.AppendUint64(nil, p.start))
		}
		if kind == sumField && !h.monotonic { // a level, as of an up-down counter
			m.point.Kind, m.cumulative = Gauge, false
		}
		m.stream = digestOf(identity...)
		m.series = digestOf(append([][]byte{m.stream[:]}, sorted(attributes)...)...)
		d.export.points = append(d.export.points, m)
		return nil
	})
}

// unfit is why no point of a metric can be represented; nil: they can.
func (h header) unfit(kind protowire.Number) error {
	switch {
	case kind == gaugeField:
		return nil
	case kind != sumField && kind != explicitField && kind != exponentialField:
		return errors.New("neither sum, gauge nor histogram")
	case h.temporality != temporalityDelta && h.temporality != temporalityCumulative:
		return errors.New("neither delta nor cumulative")
	case kind == sumField && !h.monotonic && h.temporality == temporalityDelta:
		return errors.New("changes of a level, without the level")
	}
	return nil
}

// check says why a point is refused; nil: it is not.
func (p dataPoint) check(attributes, text int) (reason string, err error) {
	switch v := p.point.Value; {
	case attributes > maxAttributes:
		return reasonAttributes, fmt.Errorf("%d attributes, the limit is %d", attributes, maxAttributes)
	case text > maxSeriesText:
		return reasonAttributes, fmt.Errorf("%d bytes of name and attributes, the limit is %d", text, maxSeriesText)
	case p.missing:
		return "", nil
	case p.unfit != nil:
		return reasonBuckets, p.unfit
	case v-v != 0: // NaN or infinite
		return reasonValue, fmt.Errorf("the value is %g", v)
	case p.end == 0:
		return reasonTime, errors.New("without its time")
	}
	return "", nil
}

// keyParts splits a key of series, or the attributes of one.
func keyParts(b []byte) (parts [][]byte) {
	for len(b) > 0 {
		size, n := binary.Uvarint(b)
		parts, b = append(parts, b[n:n+int(size)]), b[n+int(size):]
	}
	return parts
}
