package sql

import (
	"fmt"
	"time"

	"go.k6.io/k6/v2/js/modules"
	"go.k6.io/k6/v2/metrics"

	"assay.dev/assay/internal/observe/collect/databases"
	"assay.dev/assay/internal/observe/database"
)

// ConnectingMetric and DurationMetric are times for which the script waits.
const (
	ConnectingMetric = "sql_connecting" // ms to open a connection, or to take it from a pool
	DurationMetric   = "sql_duration"   // ms of a statement, with all of its rows
)

// ErrorsMetric counts errors of connections and statements, with the tags class and code.
const ErrorsMetric = "sql_errors"

// sqlMetrics are the metrics of the module. The tag name of sql_duration is exec, query,
// begin, commit, rollback or prepare.
type sqlMetrics struct {
	connecting *metrics.Metric
	duration   *metrics.Metric
	failed     *metrics.Metric // share of openings and statements that failed
	errors     *metrics.Metric
}

func registerMetrics(r *metrics.Registry) (*sqlMetrics, error) {
	var m sqlMetrics
	for _, d := range []struct {
		name string
		is   **metrics.Metric
		kind metrics.MetricType
		unit metrics.ValueType
	}{
		{ConnectingMetric, &m.connecting, metrics.Trend, metrics.Time},
		{DurationMetric, &m.duration, metrics.Trend, metrics.Time},
		{"sql_failed", &m.failed, metrics.Rate, metrics.Default},
		{ErrorsMetric, &m.errors, metrics.Counter, metrics.Default},
	} {
		registered, err := r.NewMetric(d.name, d.kind, d.unit)
		if err != nil {
			return nil, fmt.Errorf("register metric %s: %w", d.name, err)
		}
		*d.is = registered
	}
	return &m, nil
}

// sent reports an opening or a statement: its time, and its failure if it has one.
func (m *sqlMetrics) sent(vu modules.VU, of *metrics.Metric, what string, tags map[string]string, began time.Time, failure *database.Failure) {
	state, now := vu.State(), time.Now()
	current := state.Tags.GetCurrentValues()
	all := current.Tags.With("name", what)
	for key, value := range tags {
		all = all.With(key, value)
	}
	sample := func(metric *metrics.Metric, tags *metrics.TagSet, value float64) metrics.Sample {
		return metrics.Sample{TimeSeries: metrics.TimeSeries{Metric: metric, Tags: tags}, Time: now, Metadata: current.Metadata, Value: value}
	}
	failed := 0.0
	if failure != nil {
		failed = 1
	}
	samples := metrics.Samples{sample(of, all, metrics.D(now.Sub(began)))}
	if failure != nil { // before the rate: what failed, and of what, decides whose failure it is
		samples = append(samples, sample(m.errors, all.With("class", failure.Class).With("code", failure.Code), 1))
	}
	samples = append(samples, sample(m.failed, all, failed))
	metrics.PushIfNotDone(vu.Context(), state.Samples, samples)
}

// Reported is a statement that a script has sent by k6/x/sql, which has no metrics, as our output
// gets it.
type Reported struct {
	Tags  *metrics.TagSet // those of its VU
	Class string          // class of its error; empty: it has none
}

// GetSamples is empty: only our output reads it.
func (Reported) GetSamples() []metrics.Sample { return nil }

// reporter reports the statements that are sent to the database of a DSN.
func reporter(dsn string) func(modules.VU, error) {
	dialect := databases.Of(dsn).Dialect()
	return func(vu modules.VU, err error) {
		state := vu.State()
		if state == nil { // in the init context
			return
		}
		s := Reported{Tags: state.Tags.GetCurrentValues().Tags}
		if err != nil {
			s.Class = dialect.Classify(err).Class
		}
		metrics.PushIfNotDone(vu.Context(), state.Samples, s)
	}
}
