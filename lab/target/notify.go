package target

import (
	"context"
	"database/sql"
	"time"
)

// notifier relays the notifications of the outbox in their order.
type notifier struct {
	pool scope
	c    Notify
	m    *metrics
}

// run relays until the outbox is empty.
func (n *notifier) run(ctx context.Context, quit <-chan struct{}) error {
	waiting, err := backlog(ctx, n.pool, "outbox")
	if err != nil {
		return err
	}
	n.m.outbox.Set(float64(waiting))
	for waiting > 0 && !stopping(quit) {
		sent, err := n.relay(ctx)
		if err != nil || sent < n.c.Batch {
			return err
		}
	}
	return nil
}

// relay sends one batch and deletes it. The rows are locked meanwhile, and other services
// skip them. A service that crashes after sending has not deleted them: a notification is
// sent at least once.
func (n *notifier) relay(ctx context.Context) (sent int, err error) {
	err = n.pool.inTransaction(ctx, sql.LevelReadCommitted, func(c *conn) error {
		var ids []any
		err := c.each(ctx, func(scan func(...any) error) error {
			var id uint64
			err := scan(&id)
			ids = append(ids, id)
			return err
		}, "SELECT id FROM outbox ORDER BY id LIMIT ? FOR UPDATE SKIP LOCKED", n.c.Batch)
		if sent = len(ids); err != nil || sent == 0 {
			return err
		}
		if err := n.send(ctx); err != nil {
			return err
		}
		_, err = c.exec(ctx, "DELETE FROM outbox WHERE id IN ("+marks(sent)+")", ids...)
		return err
	})
	if err != nil {
		return 0, err
	}
	n.m.notified.Add(float64(sent))
	return sent, nil
}

// send simulates the notifier: it takes some time, and accepts the whole batch.
func (n *notifier) send(ctx context.Context) error {
	select {
	case <-time.After(n.c.Latency):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
