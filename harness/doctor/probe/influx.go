package probe

import (
	"context"
	"time"

	"assay/harness/observe/influx"
)

// influxTimeout bounds the questions to the view's server.
const influxTimeout = 3 * time.Second

// Influx is the view's server.
type Influx struct {
	Shown string // host and database; "" where the address cannot be read
	Err   error  // why points cannot be written; hint.Of tells the next step
}

// LookAtInflux asks the server for what a run will ask: whether it takes
// points. Its database is made where it is missing, as by a run.
func LookAtInflux(ctx context.Context, address, token string) (i Influx) {
	server, err := influx.NewServer(address, token)
	if err != nil {
		i.Err = err
		return i
	}
	defer server.Close()
	ctx, cancel := context.WithTimeout(ctx, influxTimeout)
	defer cancel()
	i.Shown, i.Err = server.String(), server.Check(ctx)
	return i
}
