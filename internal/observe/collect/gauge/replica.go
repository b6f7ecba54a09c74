package gauge

import (
	"context"
	"fmt"
	"time"

	"assay.dev/assay/internal/hint"
	"assay.dev/assay/internal/observe/collect/databases"
	"assay.dev/assay/internal/observe/database"
	"assay.dev/assay/internal/observe/metric"
)

// lagPeriod is the time between readings of a lag. Five readings per second come close to
// the second's maximum and cost a server almost nothing.
const lagPeriod = 200 * time.Millisecond

// replicas returns the lags of the replicas.
func (o Options) replicas() (all []*polledGauge) {
	for _, dsn := range o.Readers {
		parsed, _ := databases.Parse(dsn) // the address identifies a replica, without user and password
		all = append(all, &polledGauge{
			reader: &replica{dsn: dsn, source: o.Database}, series: metric.Of(metric.ReplicaLag, metric.LabelReader, parsed.Address),
			name: "lag of the replica at " + parsed.Address, located: true, period: lagPeriod,
		})
	}
	return all
}

// replica reads the lag of a replica by the driver of its family.
type replica struct {
	dsn, source string
	lag         database.LagReader // nil before open
}

func (r *replica) open(ctx context.Context) error {
	for _, dsn := range []string{r.dsn, r.source} {
		driver := databases.Of(dsn)
		if _, ok := driver.(databases.Replicator); !ok {
			return hint.With(fmt.Errorf("the lag of %s replicas cannot be read", driver.Dialect().Name),
				"leave --db-reader and the SLO out: only replicas of MySQL, MariaDB and Aurora MySQL are supported")
		}
	}
	r.lag = databases.Of(r.dsn).(databases.Replicator).Replica(r.dsn, r.source)
	return r.lag.Open(ctx)
}

func (r *replica) read(ctx context.Context) (float64, error) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	return r.lag.Lag(ctx)
}

func (r *replica) close() {
	if r.lag != nil {
		r.lag.Close()
	}
}
