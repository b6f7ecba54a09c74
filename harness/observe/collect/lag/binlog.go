package lag

import (
	"context"
	"database/sql"
	"errors"

	"assay/harness/observe/collect/databases"
	"assay/harness/observe/collect/service"
	"assay/harness/observe/database"
	"assay/harness/spec"
)

// binlogReader reads the lag of a reader of the binlog where the profile says.
func binlogReader(o Options) database.LagReader {
	if o.Binlog.SQL != "" {
		return &query{dsn: o.Database, text: o.Binlog.SQL}
	}
	e := &exposed{name: o.Binlog.Metric, scale: 1, endpoint: o.Service, hosts: o.Hosts}
	if o.Binlog.URL != "" {
		e.endpoint = o.Binlog.URL
	}
	if o.Binlog.Unit == spec.UnitSeconds {
		e.scale = 1000
	}
	return e
}

// query is a lag that the reader writes into the database.
type query struct {
	dsn, text string
	db        *database.DB
}

func (q *query) Open(context.Context) (err error) {
	if q.dsn == "" {
		return &database.Error{Problem: "it is read by SQL, and no database is named", Remedy: "set ASSAY_DB to its DSN"}
	}
	q.db, err = databases.Open(q.dsn)
	return err
}

func (q *query) Lag(ctx context.Context) (float64, error) {
	var ms sql.NullFloat64
	switch err := q.db.QueryRowContext(ctx, q.text).Scan(&ms); {
	case errors.Is(err, sql.ErrNoRows), err == nil && !ms.Valid:
		return 0, errors.New("the query returns no lag")
	case err != nil:
		return 0, err
	}
	return ms.Float64, nil
}

func (q *query) Close() {
	if q.db != nil {
		_ = q.db.Close()
	}
}

// exposed is a lag that the reader itself exposes as a metric.
type exposed struct {
	name, endpoint string
	hosts          []string
	scale          float64 // from its unit to ms
	scraper        *service.Collector
}

func (e *exposed) Open(context.Context) error {
	e.scraper = service.New(e.endpoint, e.hosts...)
	return nil
}

func (e *exposed) Lag(ctx context.Context) (float64, error) {
	v, err := e.scraper.Largest(ctx, e.name)
	return v * e.scale, err
}

func (e *exposed) Close() {
	if e.scraper != nil {
		_ = e.scraper.Close()
	}
}
