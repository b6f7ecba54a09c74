package scrape

import (
	"fmt"
	"math"
	"strings"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"assay/harness/observe/metric"
)

// Families are the metrics of an exposition by the name of their family.
type Families map[string]*dto.MetricFamily

// Parse reads the families of an exposition whose name is wanted, and those lines
// alone: parsing all of it costs the generator's host more than it is worth.
func Parse(exposition []byte, wanted func(family string) bool) (Families, error) {
	var lines strings.Builder
	for line := range strings.Lines(string(exposition)) {
		if of(line, wanted) {
			lines.WriteString(line)
		}
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(lines.String()))
	if err != nil {
		return nil, fmt.Errorf("scrape metrics: %w", err)
	}
	return families, nil
}

// of tells whether a line is about a family that is wanted: its sample, one of its
// buckets, sum or count, or what describes it.
func of(line string, wanted func(family string) bool) bool {
	name := strings.TrimPrefix(strings.TrimPrefix(line, "# HELP "), "# TYPE ")
	if end := strings.IndexAny(name, "{ \n"); end >= 0 {
		name = name[:end]
	}
	return wanted(name) || wanted(strings.TrimSuffix(name, "_sum")) || wanted(strings.TrimSuffix(name, "_count")) || wanted(strings.TrimSuffix(name, "_bucket"))
}

// Value is that of a counter or gauge, or of a metric without a type.
func Value(m *dto.Metric) (float64, bool) {
	switch {
	case m.Counter != nil:
		return m.GetCounter().GetValue(), true
	case m.Gauge != nil:
		return m.GetGauge().GetValue(), true
	case m.Untyped != nil:
		return m.GetUntyped().GetValue(), true
	}
	return 0, false
}

// Largest is the value of one metric of an exposition, of several series that have
// all these labels the largest; NaN where one of them is.
func Largest(exposition []byte, name string, labels ...metric.Label) (float64, error) {
	families, err := Parse(exposition, func(family string) bool { return family == name })
	if err != nil {
		return 0, err
	}
	largest := math.Inf(-1)
	for _, m := range families[name].GetMetric() {
		if v, ok := Value(m); ok && has(m, labels) {
			largest = max(largest, v)
		}
	}
	if math.IsInf(largest, -1) {
		return 0, fmt.Errorf("no metric %s", metric.Series{Name: name, Labels: labels}.Key())
	}
	return largest, nil
}

func has(m *dto.Metric, labels []metric.Label) bool {
	found := map[string]string{}
	for _, l := range m.GetLabel() {
		found[l.GetName()] = l.GetValue()
	}
	for _, l := range labels {
		if found[l.Key] != l.Value {
			return false
		}
	}
	return true
}
