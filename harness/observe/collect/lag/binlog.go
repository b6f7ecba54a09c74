package lag

import (
	"cmp"
	"context"
	"database/sql"
	"errors"

	"assay/harness/observe/collect/scrape"
	"assay/harness/observe/database"
	"assay/harness/spec"
)

// binlogReader is where the profile has a reader's lag read.
func binlogReader(o Options) gauge {
	if o.Binlog.SQL != "" {
		return &query{dsn: o.Database, text: o.Binlog.SQL}
	}
	e := &exposed{name: o.Binlog.Metric, scale: 1, endpoint: scrape.New(cmp.Or(o.Binlog.URL, o.Service), o.Hosts...)}
	if o.Binlog.Unit == spec.UnitSeconds {
		e.scale = 1000
	}
	return e
}

// query is a lag that the database holds, written there by the reader.
type query struct {
	dsn, text string
	db        *database.DB
}

func (q *query) open(context.Context) (err error) {
	if q.dsn == "" {
		return &database.Error{Problem: "it is read by SQL, and no database is named", Hint: "set ASSAY_DB to its DSN"}
	}
	q.db, err = database.Open(q.dsn)
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

// exposed is a lag that a reader exposes itself.
type exposed struct {
	name     string
	scale    float64 // from its unit to ms
	endpoint *scrape.Endpoint
}

func (e *exposed) open(context.Context) error { return e.endpoint.Err() }

func (e *exposed) read(ctx context.Context) (float64, error) {
	v, err := e.endpoint.Largest(ctx, e.name)
	return v * e.scale, err
}

func (e *exposed) close() { e.endpoint.Close() }
