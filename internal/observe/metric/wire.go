// SPDX-License-Identifier: Apache-2.0

package metric

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"
)

// field is one field of a protobuf message: value holds a number of any width, bytes a
// string or a message.
type field struct {
	number protowire.Number
	kind   protowire.Type
	value  uint64
	bytes  []byte
}

// is reports whether the field has this number and type. A field with an unexpected
// type is skipped, like one with an unknown number.
func (f field) is(number protowire.Number, kind protowire.Type) bool {
	return f.number == number && f.kind == kind
}

func (f field) float() float64 { return math.Float64frombits(f.value) }

// next parses the first field of a message and returns the rest.
func next(b []byte) (f field, rest []byte, err error) {
	number, kind, n := protowire.ConsumeTag(b)
	if n < 0 {
		return field{}, nil, protowire.ParseError(n)
	}
	f, b = field{number: number, kind: kind}, b[n:]
	switch kind {
	case protowire.VarintType:
		f.value, n = protowire.ConsumeVarint(b)
	case protowire.Fixed64Type:
		f.value, n = protowire.ConsumeFixed64(b)
	case protowire.BytesType:
		f.bytes, n = protowire.ConsumeBytes(b)
	default:
		n = protowire.ConsumeFieldValue(number, kind, b)
	}
	if n < 0 {
		return field{}, nil, protowire.ParseError(n)
	}
	return f, b[n:], nil
}

// eachField visits the fields of a message until one of them is an error.
func eachField(b []byte, visit func(field) error) error {
	for len(b) > 0 {
		f, rest, err := next(b)
		if err == nil {
			err = visit(f)
		}
		if err != nil {
			return err
		}
		b = rest
	}
	return nil
}

// eachMessage visits the messages in one field of a message.
func eachMessage(b []byte, number protowire.Number, visit func([]byte) error) error {
	return eachField(b, func(f field) error {
		if f.is(number, protowire.BytesType) {
			return visit(f.bytes)
		}
		return nil
	})
}

var errNotText = errors.New("string is not valid UTF-8")

// textOf is a copy of a string.
func textOf(b []byte) (string, error) {
	if !utf8.Valid(b) {
		return "", errNotText
	}
	return string(b), nil
}

// attribute is a message KeyValue: a key, and a value of one of several types. If
// several are set the last one counts.
type attribute struct {
	key    string
	kind   protowire.Number // field of AnyValue that is set; 0: none
	text   string
	number uint64
}

// Fields of AnyValue.
const (
	anyString, anyBool, anyInt, anyDouble = 1, 2, 3, 4
	anyLast                               = 8 // 5 to 8 are lists, bytes and references
)

func readAttribute(b []byte) (a attribute, err error) {
	err = eachField(b, func(f field) (err error) {
		switch {
		case f.is(1, protowire.BytesType):
			a.key, err = textOf(f.bytes)
		case f.is(2, protowire.BytesType):
			err = eachField(f.bytes, a.readValue)
		}
		return err
	})
	return a, err
}

// readValue reads a field of AnyValue.
func (a *attribute) readValue(f field) (err error) {
	switch {
	case f.is(anyString, protowire.BytesType):
		a.text, err = textOf(f.bytes)
	case f.is(anyBool, protowire.VarintType), f.is(anyInt, protowire.VarintType), f.is(anyDouble, protowire.Fixed64Type):
		a.number = f.value
	case f.number > anyDouble && f.number < anyLast && f.kind == protowire.BytesType, f.is(anyLast, protowire.VarintType):
	default:
		return nil
	}
	a.kind = f.number
	return err
}

// label is the value as a label value.
func (a attribute) label() string {
	switch a.kind {
	case anyString:
		return a.text
	case anyBool:
		return fmt.Sprint(a.number != 0)
	case anyInt:
		return fmt.Sprint(int64(a.number))
	case anyDouble:
		return fmt.Sprint(math.Float64frombits(a.number))
	}
	return ""
}

// readBuckets reads a message Buckets, and appends its counts.
func readBuckets(b []byte, offset *int, counts []uint64) ([]uint64, error) {
	err := eachField(b, func(f field) (err error) {
		switch {
		case f.is(1, protowire.VarintType):
			*offset = zigzag(f.value)
		case f.is(2, protowire.VarintType):
			counts = append(counts, f.value)
		case f.is(2, protowire.BytesType):
			counts, err = readCounts(f.bytes, counts)
		}
		if err == nil && len(counts) > maxBuckets {
			err = fmt.Errorf("histogram has more than %d buckets", maxBuckets)
		}
		return err
	})
	return counts, err
}

// readCounts appends packed varints. They make up most of a record, hence the fast path
// for those of one byte.
func readCounts(b []byte, counts []uint64) ([]uint64, error) {
	counts = slices.Grow(counts, min(len(b), maxBuckets+1))
	for i := 0; i < len(b) && len(counts) <= maxBuckets; {
		if b[i] < 0x80 {
			counts = append(counts, uint64(b[i]))
			i++
			continue
		}
		v, n := protowire.ConsumeVarint(b[i:])
		if n < 0 {
			return counts, protowire.ParseError(n)
		}
		counts = append(counts, v)
		i += n
	}
	return counts, nil
}

// zigzag decodes a sint32.
func zigzag(v uint64) int { return int(int32(protowire.DecodeZigZag(v & math.MaxUint32))) }
