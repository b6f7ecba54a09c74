package target

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"slices"
)

// batched is a payment that waits for its batch. done is buffered, so that a caller that
// has left does not block the batch.
type batched struct {
	*unit
	err  error // error of this payment only; the batch continues
	done chan error
}

// inBatch charges the payment, then waits for the commit of its batch.
func (p *payments) inBatch(ctx context.Context, u *unit) error {
	if err := p.charge(ctx, u); err != nil {
		return err
	}
	b := &batched{unit: u, done: make(chan error, 1)}
	if err := p.batches.put(ctx, b); err != nil {
		return err
	}
	select {
	case err := <-b.done:
		return err
	case <-ctx.Done(): // it may still be committed, but is not acknowledged
		return ctx.Err()
	}
}

// commitBatch makes all payments of a batch in one transaction.
func (p *payments) commitBatch(ctx context.Context, batch []*batched) {
	// All batches lock account rows in the same order: no deadlocks.
	slices.SortFunc(batch, func(a, b *batched) int { return cmp.Compare(a.Account, b.Account) })
	pool := p.db.scope()
	defer pool.close()
	err := pool.inTransaction(ctx, sql.LevelDefault, func(c *conn) error {
		for _, b := range batch {
			// A refused payment has changed nothing in the transaction.
			b.err = b.accept(ctx, c.exec)
			if errors.Is(b.err, errRepeated) || errors.Is(b.err, errIDTaken) {
				continue
			}
			if b.err == nil {
				b.err = b.conclude(ctx, c.exec)
			}
			if b.err != nil {
				return b.err
			}
		}
		return nil
	})
	for _, b := range batch {
		b.done <- cmp.Or(err, b.err)
	}
}
