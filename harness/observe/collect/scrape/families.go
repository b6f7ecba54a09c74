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

// Families holds the metric families of an exposition by name.
type Families map[string]*dto.MetricFamily

// Parse reads the families whose names are wanted. It parses only their lines, because
// parsing everything would cost the generator's host too much CPU.
func Parse(exposition []byte, wanted func(family string) bool) (Families, error) {
	var lines strings.Builder
	for line := range strings.Lines(string(exposition)) {
		if isWanted(line, wanted) {
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

// isWanted reports whether a line belongs to a wanted family: a sample, a bucket, a sum or
// count, or its HELP or TYPE.
func isWanted(line string, wanted func(family string) bool) bool {
	name := strings.TrimPrefix(strings.TrimPrefix(line, "# HELP "), "# TYPE ")
	if quoted, ok := strings.CutPrefix(strings.TrimPrefix(name, "{"), `"`); ok { // a name of Prometheus 3, such as with dots
		name, _, _ = strings.Cut(quoted, `"`)
	} else if end := strings.IndexAny(name, "{ \n"); end >= 0 {
		name = name[:end]
	}
	return wanted(name) || wanted(strings.TrimSuffix(name, "_sum")) || wanted(strings.TrimSuffix(name, "_count")) || wanted(strings.TrimSuffix(name, "_bucket"))
}

// Value returns the value of a counter, a gauge or a metric without a type; false for
// others.
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

// noMetricError means that an exposition has no value of a metric.
type noMetricError struct{ metric string }

func (e *noMetricError) Error() string { return "no metric " + e.metric }

// Largest returns the largest value of all series of a metric that have these labels; NaN
// if one of them is NaN.
func Largest(exposition []byte, name string, labels ...metric.Label) (float64, error) {
	families, err := Parse(exposition, func(family string) bool { return family == name })
	if err != nil {
		return 0, err
	}
	largest := math.Inf(-1)
	for _, m := range families[name].GetMetric() {
		if v, ok := Value(m); ok && hasLabels(m, labels) {
			largest = max(largest, v)
		}
	}
	if math.IsInf(largest, -1) {
		return 0, &noMetricError{metric.Series{Name: name, Labels: labels}.Key()}
	}
	return largest, nil
}

func hasLabels(m *dto.Metric, labels []metric.Label) bool {
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
