package lag

import (
	"context"
	"fmt"

	"assay/harness/observe/collect/databases"
	"assay/harness/observe/database"
)

// replica is the lag of a replica, as the driver of its family reads it.
type replica struct {
	dsn, source string
	database.LagReader
}

func (r *replica) Open(ctx context.Context) error {
	for _, dsn := range []string{r.dsn, r.source} {
		driver := databases.Of(dsn)
		if _, can := driver.(databases.Replicator); !can {
			return &database.Error{
				Problem: fmt.Sprintf("of %s no lag is read", driver.Dialect().Name),
				Remedy:  "leave --db-reader and the SLO out: replicas of MySQL, MariaDB and Aurora MySQL can be watched",
			}
		}
	}
	r.LagReader = databases.Of(r.dsn).(databases.Replicator).Replica(r.dsn, r.source)
	return r.LagReader.Open(ctx)
}

func (r *replica) Close() {
	if r.LagReader != nil {
		r.LagReader.Close()
	}
}
