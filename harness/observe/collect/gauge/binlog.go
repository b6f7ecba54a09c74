package gauge

import (
	"context"
	"database/sql"
	"errors"

	"assay/harness/hint"
	"assay/harness/observe/collect/databases"
	"assay/harness/observe/database"
	"assay/harness/observe/metric"
	"assay/harness/spec"
)

// binlogReader returns the lag of a reader of the binlog; nil if the profile defines none.
func (o Options) binlogReader() *polledGauge {
	lag := o.Profile.Reader
	if lag == nil {
		return nil
	}
	g := &polledGauge{series: metric.Of(metric.BinlogReaderLag), name: "lag of the binlog reader", period: lagPeriod}
	if lag.SQL != "" {
		g.reader, g.located = &query{dsn: o.Database, text: lag.SQL}, o.Database != ""
		return g
	}
	e := o.scraped(lag.Metric, lag.URL)
	if lag.Unit == spec.UnitSeconds {
		e.scale = 1000
	}
	g.reader, g.located = e, o.located(lag.URL)
	return g
}

// query reads a lag that the binlog reader stores in the database.
type query struct {
	dsn, text string
	db        *database.DB
}

func (q *query) open(context.Context) (err error) {
	if q.dsn == "" {
		return hint.With(errors.New("it is read by SQL, but no database is named"), "set ASSAY_DB to its DSN")
	}
	q.db, err = databases.Open(q.dsn)
	return err
}

func (q *query) read(ctx context.Context) (float64, error) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
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
