package target

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"sync"

	"assay.dev/assay/lab/target/gateway"
)

// reconciler finds the outcome of payments whose gateway did not respond.
type reconciler struct {
	pool     scope
	gateways *gateway.Gateways
	c        Reconcile
	lease    int64 // µs in which no other service takes a claimed payment
	m        *metrics
}

func newReconciler(c Config, db *database, gateways *gateway.Gateways) *reconciler {
	// Longer than a query may take, so that two services never query concurrently.
	lease := c.Reconcile.After + 2*c.Gateway.Patience
	return &reconciler{db.workers(), gateways, c.Reconcile, lease.Microseconds(), db.m}
}

// openPayment is a claimed payment, to be queried for the nth time.
type openPayment struct {
	unit
	nth int
}

// run queries every payment that is due.
func (r *reconciler) run(ctx context.Context, quit <-chan struct{}) error {
	n, err := backlog(ctx, r.pool, "pending_payments")
	if err != nil {
		return err
	}
	r.m.pending.Set(float64(n))
	if n == 0 {
		return nil
	}
	for !stopping(quit) {
		taken, err := r.take(ctx)
		if err != nil || len(taken) == 0 {
			return err
		}
		if err := r.ask(ctx, taken); err != nil {
			return err
		}
		for _, p := range taken {
			if p.Mode != "" && !p.answer.Outcome.Known() { // without a mode it was removed
				continue // it is due again after the lease
			}
			if err := r.conclude(ctx, p); err != nil {
				return fmt.Errorf("payment %s: %w", p.ID, err)
			}
		}
	}
	return nil
}

// take claims due payments by making them due later: no other service takes them
// meanwhile, and if this one crashes they become due again. The gateway is queried after
// the commit, without locks. READ COMMITTED, here and below, locks the found rows but no
// gaps, into which requests insert.
func (r *reconciler) take(ctx context.Context) (taken []*openPayment, err error) {
	err = r.pool.inTransaction(ctx, sql.LevelReadCommitted, func(c *conn) error {
		taken = nil
		var ids []any
		err := c.each(ctx, func(scan func(...any) error) error {
			p := &openPayment{}
			taken = append(taken, p)
			err := scan(&p.ID, &p.nth)
			ids = append(ids, p.ID)
			p.nth++
			return err
		}, "SELECT payment_id, asked FROM pending_payments WHERE due_at <= CURRENT_TIMESTAMP(6) ORDER BY due_at LIMIT ? FOR UPDATE SKIP LOCKED", r.c.Batch)
		if err != nil || len(ids) == 0 {
			return err
		}
		_, err = c.exec(ctx, "UPDATE pending_payments SET asked = asked + 1, due_at = TIMESTAMPADD(MICROSECOND, ?, CURRENT_TIMESTAMP(6)) WHERE payment_id IN ("+marks(len(ids))+")",
			append([]any{r.lease}, ids...)...)
		return err
	})
	return taken, err
}

// ask queries the gateways about all payments concurrently.
func (r *reconciler) ask(ctx context.Context, taken []*openPayment) error {
	for _, p := range taken {
		err := r.pool.row(ctx, []any{&p.Mode}, "SELECT mode FROM payments WHERE id = ?", p.ID)
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return err
		}
	}
	var asked sync.WaitGroup
	errs := make([]error, len(taken))
	for i, p := range taken {
		if p.Mode == "" { // the payment was removed; conclude removes its other rows
			continue
		}
		asked.Go(func() { p.answer, errs[i] = r.gateways.Inquire(ctx, p.nth, p.Mode, p.ID) })
	}
	asked.Wait()
	return errors.Join(errs...)
}

// conclude writes the answer in one transaction. Its first statement deletes the pending
// payment, which decides between two services that have both queried.
func (r *reconciler) conclude(ctx context.Context, p *openPayment) error {
	concluded := false
	err := r.pool.inTransaction(ctx, sql.LevelReadCommitted, func(c *conn) error {
		concluded = false
		n, err := c.exec(ctx, "DELETE FROM pending_payments WHERE payment_id = ?", p.ID)
		if err != nil || n == 0 {
			return err
		}
		err = c.row(ctx, []any{&p.state, &p.Account, &p.Amount, &p.gateway},
			"SELECT state, account, amount, gateway FROM payments WHERE id = ? FOR UPDATE", p.ID)
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		if err != nil || p.state != statePending && p.state != stateSent {
			return err
		}
		concluded = true
		return p.unit.conclude(ctx, c.exec)
	})
	if err == nil && concluded {
		r.m.reconciled.WithLabelValues(string(p.answer.Outcome)).Inc()
	}
	return err
}

// marks are n placeholders.
func marks(n int) string { return strings.Repeat(",?", n)[1:] }
