package gauge

import (
	"cmp"
	"context"
	"database/sql"
	"errors"

	"assay/harness/hint"
	"assay/harness/observe/collect/databases"
	"assay/harness/observe/collect/scrape"
	"assay/harness/observe/database"
	"assay/harness/observe/metric"
	"assay/harness/spec"
)

// binlogReader is the lag of a reader of the binlog, where the profile has it
// read; nil: nowhere.
func (o Options) binlogReader() *watched {
	of := o.Profile.Reader
	if of == nil {
		return nil
	}
	w := &watched{series: metric.Of(metric.BinlogReaderLag), name: "lag of the binlog's reader", period: lagPeriod}
	if of.SQL != "" {
		w.gauge, w.known = &query{dsn: o.Database, text: of.SQL}, o.Database != ""
		return w
	}
	e := o.exposed(of.Metric, of.URL)
	if of.Unit == spec.UnitSeconds {
		e.scale = 1000
	}
	w.gauge, w.known = e, of.URL != "" || o.Service != ""
	return w
}

// query is a lag that the database holds, written there by the reader.
type query struct {
	dsn, text string
	db        *database.DB
}

func (q *query) open(context.Context) (err error) {
	if q.dsn == "" {
		return hint.With(errors.New("it is read by SQL, and no database is named"), "set ASSAY_DB to its DSN")
	}
	q.db, err = databases.Open(q.dsn)
	return err
}

func (q *query) read(ctx context.Context) (float64, error) {
	ctx, cancel := context.WithTimeout(ctx, answer)
	defer cancel()
	var ms sql.NullFloat64
	switch err := q.db.QueryRowContext(ctx, q.text).Scan(&ms); {
	case errors.Is(err, sql.ErrNoRows), err == nil && !ms.Valid:
		return 0, errors.New("the query returns no lag")
	case err != nil:
		return 0, err
	}
	return ms.Float64, nil
}

func (q *query) close() {
	if q.db != nil {
		_ = q.db.Close()
	}
}

// exposed is a gauge that an endpoint exposes.
type exposed struct {
	endpoint *scrape.Endpoint
	name     string
	labels   []metric.Label
	scale    float64 // from its unit to ours
}

// exposed is a metric at a URL, or where the service's metrics are.
func (o Options) exposed(name, url string, labels ...metric.Label) *exposed {
	return &exposed{endpoint: scrape.New(cmp.Or(url, o.Service), o.Hosts...), name: name, labels: labels, scale: 1}
}

func (e *exposed) open(context.Context) error { return e.endpoint.Err() }

func (e *exposed) read(ctx context.Context) (float64, error) {
	v, err := e.endpoint.Largest(ctx, e.name, e.labels...)
	return v * e.scale, err
}

func (e *exposed) close() { e.endpoint.Close() }
