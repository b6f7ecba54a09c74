package service

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"assay/harness/observe/metric"
)

// maxBody bounds what one scrape reads; a large service exposes some 200 kB.
const maxBody = 4 << 20

// queryDuration is a histogram or summary of all statements, in seconds,
// without the wait for a connection.
const queryDuration = "db_query_duration_seconds"

// source is where one of our metrics comes from. Values are summed over all
// label sets: a service may have several pools.
type source struct {
	family string
	part   func(*dto.Metric) (value float64, ok bool)
	name   string // in metric's catalogue
	unit   string
	kind   metric.Kind
	scale  float64 // from the endpoint's unit to ours
}

const perSecond = 1000 // ms

var sources = []source{
	{"go_sql_in_use_connections", value, metric.ServicePoolInUse, "", metric.Gauge, 1},
	{"go_sql_open_connections", value, metric.ServicePoolOpen, "", metric.Gauge, 1},
	{"go_sql_max_open_connections", value, metric.ServicePoolMax, "", metric.Gauge, 1},
	{"go_sql_wait_count_total", value, metric.ServicePoolWaits, "", metric.Counter, 1},
	{"go_sql_wait_duration_seconds_total", value, metric.ServicePoolWaitTime, "ms", metric.Counter, perSecond},
	{queryDuration, count, metric.ServiceQueries, "", metric.Counter, 1},
	{queryDuration, sum, metric.ServiceQueryTime, "ms", metric.Counter, perSecond},
}

// value is that of a counter or gauge, or of a metric without a type.
func value(m *dto.Metric) (float64, bool) {
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

func count(m *dto.Metric) (float64, bool) {
	switch {
	case m.Histogram != nil:
		return float64(m.GetHistogram().GetSampleCount()), true
	case m.Summary != nil:
		return float64(m.GetSummary().GetSampleCount()), true
	}
	return 0, false
}

func sum(m *dto.Metric) (float64, bool) {
	switch {
	case m.Histogram != nil:
		return m.GetHistogram().GetSampleSum(), true
	case m.Summary != nil:
		return m.GetSummary().GetSampleSum(), true
	}
	return 0, false
}

// reading is what one scrape found, in the order of sources.
type reading struct {
	values [7]float64
	found  [7]bool
}

func (r reading) empty() bool { return r.found == [7]bool{} }

// scrape reads our metrics from the endpoint.
func (c *Collector) scrape(ctx context.Context) (reading, error) {
	body, err := c.fetch(ctx)
	if err != nil {
		return reading{}, err
	}
	return parse(body)
}

// fetch reads the endpoint.
func (c *Collector) fetch(ctx context.Context) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.endpoint, nil)
	if err != nil {
		return nil, fmt.Errorf("scrape service: %w", err)
	}
	req.Header.Set("Accept", "text/plain;version=0.0.4")
	resp, err := c.client.Do(req)
	if err != nil {
		return nil, fmt.Errorf("scrape service: %w", err)
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("scrape service: %s answers %s", c.shown, resp.Status)
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxBody+1))
	if err != nil {
		return nil, fmt.Errorf("scrape service: %w", err)
	}
	if len(body) > maxBody {
		return nil, fmt.Errorf("scrape service: %s sends more than %d bytes", c.shown, maxBody)
	}
	return body, nil
}

// parse reads an exposition in the text format: our lines alone, as parsing all
// of it costs the generator's host more than it is worth.
func parse(body []byte) (reading, error) {
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(ours(body)))
	if err != nil {
		return reading{}, fmt.Errorf("scrape service: %w", err)
	}
	var r reading
	for i, s := range sources {
		for _, m := range families[s.family].GetMetric() {
			if v, ok := s.part(m); ok {
				r.values[i] += v * s.scale
				r.found[i] = true
			}
		}
	}
	return r, nil
}

// ours keeps the lines that are about our families.
func ours(body []byte) string {
	var b strings.Builder
	for line := range strings.Lines(string(body)) {
		name := strings.TrimPrefix(strings.TrimPrefix(line, "# HELP "), "# TYPE ")
		if strings.HasPrefix(name, "go_sql_") || strings.HasPrefix(name, queryDuration) {
			b.WriteString(line)
		}
	}
	return b.String()
}

// points compares a reading with the one before it. A counter that fell was
// begun anew by a restarted service: all that it shows happened since.
func (r reading) points(before *reading) (points []metric.Point) {
	for i, s := range sources {
		if !r.found[i] {
			continue
		}
		series := metric.NewSeries(s.name, s.unit)
		if s.kind == metric.Gauge {
			points = append(points, metric.GaugePoint(series, r.values[i]))
			continue
		}
		if before == nil || !before.found[i] {
			continue
		}
		increase := r.values[i] - before.values[i]
		if increase < 0 {
			increase = r.values[i]
		}
		points = append(points, metric.CounterPoint(series, increase))
	}
	return points
}
