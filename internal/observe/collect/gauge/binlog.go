package gauge

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"assay.dev/assay/internal/foreign"
	"assay.dev/assay/internal/hint"
	"assay.dev/assay/internal/observe/collect/databases"
	"assay.dev/assay/internal/observe/database"
	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/spec"
)

// binlogReader returns the lag of a reader of the binlog; nil if the profile defines none.
func (o Options) binlogReader() *polledGauge {
	return o.lag(o.Profile.Reader, metric.BinlogReaderLag, "lag of the binlog reader", lagPeriod)
}

// persistLag returns the persist lag while the run goes on; nil if the profile does not
// define where it is read. It is read once a second: the query may cost the database
// something, and nothing is decided by it.
func (o Options) persistLag() *polledGauge {
	for _, of := range o.Profile.Flows { // of the first flow that has one
		if of.Ledger != nil && of.Ledger.Lag != nil {
			return o.lag(of.Ledger.Lag, metric.PersistLagNow, "persist lag", time.Second)
		}
	}
	return nil
}

// lag returns a lag that the profile says where to read; nil if it does not.
func (o Options) lag(lag *spec.Lag, name, text string, period time.Duration) *polledGauge {
	if lag == nil {
		return nil
	}
	g := &polledGauge{series: metric.Of(name), name: text, period: period}
	if lag.SQL != "" {
		g.reader, g.located = &query{dsn: o.Database, text: lag.SQL, run: o.Run}, o.Database != ""
		return g
	}
	e := o.scraped(lag.Metric, lag.URL)
	if lag.Unit == spec.UnitSeconds {
		e.scale = 1000
	}
	g.reader, g.located = e, o.located(lag.URL)
	return g
}

var errNoLag = errors.New("the query returns no lag")

// query reads a lag from the database. Each ? of its text is the run id.
type query struct {
	dsn, text, run string
	db             *database.DB
}

func (q *query) open(context.Context) (err error) {
	if q.dsn == "" {
		return hint.With(errors.New("it is read by SQL, but no database is named"), "set ASSAY_DB to its DSN")
	}
	q.db, err = databases.Open(q.dsn)
	return err
}

func (q *query) read(ctx context.Context) (_ float64, err error) {
	defer foreign.Guard(&err) // of a driver, which parses what the server sends
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	var ms sql.NullFloat64
	switch err := q.db.QueryRowContext(ctx, q.db.Dialect.Bind(q.text), spec.Arguments(q.text, q.run)...).Scan(&ms); {
	case errors.Is(err, sql.ErrNoRows), err == nil && !ms.Valid:
		return 0, errNoLag
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
