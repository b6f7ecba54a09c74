package gauge

import (
	"context"
	"fmt"
	"time"

	"assay/harness/hint"
	"assay/harness/observe/collect/databases"
	"assay/harness/observe/database"
	"assay/harness/observe/metric"
)

// lagPeriod is the time between readings of a lag: five a second find most of what
// a second had at its worst, and cost a server next to nothing.
const lagPeriod = 200 * time.Millisecond

// replicas are those whose lag is watched.
func (o Options) replicas() (all []*watched) {
	for _, dsn := range o.Readers {
		of, _ := databases.Parse(dsn) // the address tells replicas apart, without user and password
		all = append(all, &watched{
			gauge: &replica{dsn: dsn, source: o.Database}, series: metric.Of(metric.ReplicaLag, metric.LabelReader, of.Address),
			name: "lag of the replica at " + of.Address, known: true, period: lagPeriod,
		})
	}
	return all
}

// replica is the lag of a replica, as the driver of its family reads it.
type replica struct {
	dsn, source string
	reader      database.LagReader // nil before open
}

func (r *replica) open(ctx context.Context) error {
	for _, dsn := range []string{r.dsn, r.source} {
		driver := databases.Of(dsn)
		if _, can := driver.(databases.Replicator); !can {
			return hint.With(fmt.Errorf("the lag of %s replicas cannot be read", driver.Dialect().Name),
				"leave --db-reader and the SLO out: only replicas of MySQL, MariaDB and Aurora MySQL are supported")
		}
	}
	r.reader = databases.Of(r.dsn).(databases.Replicator).Replica(r.dsn, r.source)
	return r.reader.Open(ctx)
}

func (r *replica) read(ctx context.Context) (float64, error) {
	ctx, cancel := context.WithTimeout(ctx, answer)
	defer cancel()
	return r.reader.Lag(ctx)
}

func (r *replica) close() {
	if r.reader != nil {
		r.reader.Close()
	}
}
