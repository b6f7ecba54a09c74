package influx

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/influxdata/line-protocol/v2/lineprotocol"

	"assay.dev/assay/internal/observe/metric"
)

// Point is one line of line protocol.
type Point struct {
	Measurement string
	Tags        []metric.Label // sorted by key; none is empty
	Fields      []Field
	Second      int64 // unix
}

// Field is one value of a point: a number, or a text where Text is not empty.
type Field struct {
	Name  string
	Value float64
	Text  string
}

// fields collects the fields of a point; values without data are omitted.
type fields []Field

func (f *fields) add(name string, v float64, ok bool) {
	if ok && !math.IsNaN(v) && !math.IsInf(v, 0) {
		*f = append(*f, Field{Name: name, Value: v})
	}
}

func (f *fields) text(name, text string) {
	if text = plain(text); text != "" {
		*f = append(*f, Field{Name: name, Text: text})
	}
}

// ratio adds a/b, unless b is 0 or there is no data.
func (f *fields) ratio(name string, a, b float64, ok bool) {
	f.add(name, a/b, ok && b > 0)
}

// quantiles are the percentiles of the schema and their fields.
var quantiles = []struct {
	field string
	q     float64
}{{"p50", 0.5}, {"p90", 0.9}, {"p95", 0.95}, {"p99", 0.99}, {"p999", 0.999}}

// distribution adds the mean, percentiles and maximum of a histogram, nothing if it is
// empty.
func (f *fields) distribution(h *metric.Hist) {
	mean, ok := h.Mean()
	f.add("mean", mean, ok)
	for _, p := range quantiles {
		v, ok := h.Quantile(p.q)
		f.add(p.field, v, ok)
	}
	highest, ok := h.Max()
	f.add("max", highest, ok)
}

// Append appends points in line protocol with timestamps in seconds.
func Append(dst []byte, points []Point) ([]byte, error) {
	var e lineprotocol.Encoder
	e.SetPrecision(lineprotocol.Second)
	e.SetBuffer(dst)
	for _, p := range points {
		e.StartLine(p.Measurement)
		for _, tag := range p.Tags {
			e.AddTag(tag.Key, tag.Value)
		}
		for _, f := range p.Fields {
			v, ok := lineprotocol.FloatValue(f.Value)
			if f.Text != "" {
				v, ok = lineprotocol.StringValue(f.Text)
			}
			if ok {
				e.AddField(f.Name, v)
			}
		}
		e.EndLine(time.Unix(p.Second, 0))
	}
	if err := e.Err(); err != nil {
		return dst, fmt.Errorf("encode points: %w", err)
	}
	return e.Bytes(), nil
}

// tags makes sorted tags from key, value, key, value. It omits tags with an empty value, and
// keeps the first one of each key. Values come from scripts, and line protocol allows neither
// control characters nor a backslash at the end.
func tags(keyValues ...string) []metric.Label {
	for i := 1; i < len(keyValues); i += 2 {
		keyValues[i] = strings.TrimRight(plain(keyValues[i]), `\ `)
	}
	return metric.NewSeries("", "", keyValues...).Labels
}

// plain makes a text a single line of valid UTF-8.
func plain(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "?"))
}
