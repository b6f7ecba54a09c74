package service

import (
	"cmp"
	"strings"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/otlptranslator"

	"assay.dev/assay/internal/observe/collect/scrape"
	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/observe/semconv"
)

// strategies are the ways in which OpenTelemetry's names become Prometheus': usually
// http_server_request_duration_seconds; since Prometheus 3 also with the dots, without the
// unit, or both.
var strategies = []otlptranslator.TranslationStrategyOption{
	otlptranslator.UnderscoreEscapingWithSuffixes, otlptranslator.NoUTF8EscapingWithSuffixes,
	otlptranslator.UnderscoreEscapingWithoutSuffixes, otlptranslator.NoTranslation,
}

// otelSource is a source under a name of OpenTelemetry.
type otelSource struct {
	source
	beside string  // it is added to the other sources of its metric; empty: it is one of them
	bounds float64 // from the unit of a histogram's bounds to ms
}

// otelSources are the metrics of OpenTelemetry's semantic conventions, by all names under
// which an exporter for Prometheus exposes them. They are used after all other sources.
var otelSources = func() (all []otelSource) {
	for _, m := range semconv.Metrics {
		s := otelSource{source: source{name: m.As.Name, value: valueOf(m)}}
		if m.As.Name == metric.ErrorsByClass {
			s.name = errorPrefix + m.As.Label("class")
		}
		if m.Beside {
			s.beside = m.Name
		}
		s.scale, _ = m.Factor("")
		s.bounds, _ = semconv.Milliseconds(m.Unit)
		families := map[string]bool{} // most strategies agree on a metric without a unit
		for _, strategy := range strategies {
			if s.family = familyOf(m, strategy); !families[s.family] {
				families[s.family] = true
				all = append(all, s)
			}
		}
	}
	return all
}()

// familyOf is the name of a metric in an exposition.
func familyOf(m semconv.Metric, strategy otlptranslator.TranslationStrategyOption) string {
	var kind otlptranslator.MetricType = otlptranslator.MetricTypeHistogram
	if d, _ := metric.Find(m.As.Name); m.Part == semconv.Value {
		kind = otlptranslator.MetricTypeMonotonicCounter
		if d.Kind == metric.Gauge {
			kind = otlptranslator.MetricTypeGauge
		}
	}
	namer := otlptranslator.NewMetricNamer("", strategy)
	family, err := namer.Build(otlptranslator.Metric{Name: m.Name, Unit: m.Unit, Type: kind})
	if err != nil {
		panic(err) // a name in the list is empty
	}
	return family
}

// valueOf reads a point of a metric; false: it does not count.
func valueOf(m semconv.Metric) func(*dto.Metric) (float64, bool) {
	read := map[semconv.Part]func(*dto.Metric) (float64, bool){semconv.Value: scrape.Value, semconv.Count: count, semconv.Sum: sum}[m.Part]
	return func(p *dto.Metric) (float64, bool) {
		if m.Of != nil && !m.Of(func(name string) string { return label(p, name) }) {
			return 0, false
		}
		return read(p)
	}
}

// label is the value of an OpenTelemetry attribute, whose name is exposed with or
// without its dots; empty: there is none.
func label(m *dto.Metric, name string) (value string) {
	escaped := strings.ReplaceAll(name, ".", "_")
	for _, l := range m.GetLabel() {
		if l.GetName() == name || l.GetName() == escaped {
			value = cmp.Or(value, l.GetValue())
		}
	}
	return value
}
