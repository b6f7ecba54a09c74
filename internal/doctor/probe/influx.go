package probe

import (
	"context"
	"time"

	"assay.dev/assay/internal/observe/influx"
)

// influxTimeout bounds the requests to the view's server.
const influxTimeout = 3 * time.Second

// Influx is the state of the view's server.
type Influx struct {
	Name string // host and database; "" if the address is malformed
	Err  error  // why points cannot be written, with a hint
}

// ExamineInflux checks whether the server accepts points, as a run does. Like a run it
// creates the database if it is missing.
func ExamineInflux(ctx context.Context, address, token string) (i Influx) {
	server, err := influx.NewServer(address, token)
	if err != nil {
		i.Err = err
		return i
	}
	defer server.Close()
	ctx, cancel := context.WithTimeout(ctx, influxTimeout)
	defer cancel()
	i.Name, i.Err = server.String(), server.Check(ctx)
	return i
}
