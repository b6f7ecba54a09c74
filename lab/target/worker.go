package target

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// workers run in the background. Several services on one database share the work: each
// claims its items.
type workers struct {
	quit chan struct{}
	done sync.WaitGroup
}

// start runs work at every interval until stop. A failure is logged and retried: a
// worker survives an outage of the database.
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

// stop waits until each worker has finished its current item; another service takes the
// rest. Once abandoned is closed it no longer waits, as the database may not respond; an
// open transaction ends with its connection.
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

// maxCounted limits the cost of counting a backlog, which may have millions of rows after
// a long outage.
const maxCounted = 10_000

// backlog counts the rows of a table, up to maxCounted.
func backlog(ctx context.Context, pool scope, table string) (n int, err error) {
	query := fmt.Sprintf("SELECT COUNT(*) FROM (SELECT 1 FROM %s LIMIT %d) counted", table, maxCounted)
	err = pool.row(ctx, []any{&n}, query)
	return n, err
}
