package target

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// workers run beside the requests. Several services on one database share the
// work: each takes what no other has taken.
type workers struct {
	quit chan struct{}
	done sync.WaitGroup
}

// start runs work at every interval until stop. What fails is logged and tried
// again: a database that is away is not the end of a worker.
func (w *workers) start(ctx context.Context, name string, every time.Duration, log *limitedLog, work func(context.Context, <-chan struct{}) error) {
	w.done.Go(func() {
		tick := time.NewTicker(every)
		defer tick.Stop()
		for {
			select {
			case <-w.quit:
				return
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			if err := work(ctx, w.quit); err != nil && ctx.Err() == nil {
				log.error(name, err)
			}
		}
	})
}

// stop lets each worker end what it has begun, and begin nothing more: what is
// left over is the next service's. Once abandoned is done it waits no longer for
// a database that does not answer; the open transaction ends with its
// connection.
func (w *workers) stop(abandoned <-chan struct{}) {
	close(w.quit)
	ended := make(chan struct{})
	go func() {
		w.done.Wait()
		close(ended)
	}()
	select {
	case <-ended:
	case <-abandoned:
	}
}

func stopping(quit <-chan struct{}) bool {
	select {
	case <-quit:
		return true
	default:
		return false
	}
}

// countedAtMost bounds what counting a backlog costs: after a long outage there
// may be millions of rows.
const countedAtMost = 10_000

// backlog counts the rows of a table, up to countedAtMost.
func backlog(ctx context.Context, pool scope, table string) (n int, err error) {
	query := fmt.Sprintf("SELECT COUNT(*) FROM (SELECT 1 FROM %s LIMIT %d) counted", table, countedAtMost)
	err = pool.row(ctx, []any{&n}, query)
	return n, err
}
