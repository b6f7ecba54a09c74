package target

import (
	"context"
	"fmt"

	code "github.com/go-mysql-org/go-mysql/mysql"

	"assay.dev/assay/lab/target/gateway"
)

// execFunc runs one statement, with or without a commit.
type execFunc func(ctx context.Context, query string, args ...any) (affected int64, err error)

// accept and conclude are the ten statements of a confirmed payment, the same in every
// commit mode: an A/B run compares the commits only. A declined payment has seven
// statements, a pending one six.
//
// accept writes the records that must exist before money moves. The idempotency key is
// the first: its primary key decides between two concurrent requests.
func (u *unit) accept(ctx context.Context, exec execFunc) error {
	_, err := exec(ctx, "INSERT INTO idempotency_keys (idempotency_key, payment_id) VALUES (?, ?)", u.IdempotencyKey, u.ID)
	if isServerError(err, code.ER_DUP_ENTRY) {
		return errRepeated
	} else if err != nil {
		return err
	}
	_, err = exec(ctx, "INSERT INTO payments (id, run_id, mode, amount, account, state) VALUES (?, ?, ?, ?, ?, ?)",
		u.ID, u.RunID, u.Mode, u.Amount, u.Account, stateCreated)
	if isServerError(err, code.ER_DUP_ENTRY) {
		// The key must not remain on another caller's payment.
		if _, err := exec(ctx, "DELETE FROM idempotency_keys WHERE idempotency_key = ?", u.IdempotencyKey); err != nil {
			return err
		}
		return errIDTaken
	} else if err != nil {
		return err
	}
	err = u.change(ctx, exec, "UPDATE payments SET state = ?, gateway = ? WHERE id = ? AND state = ?",
		stateRouted, u.gateway, u.ID, stateCreated)
	if err != nil {
		return err
	}
	u.state = stateSent
	return u.change(ctx, exec, "UPDATE payments SET state = ? WHERE id = ? AND state = ?", u.state, u.ID, stateRouted)
}

// conclude writes the gateway's answer.
func (u *unit) conclude(ctx context.Context, exec execFunc) error {
	switch u.answer.Outcome {
	case gateway.Confirmed:
		return u.confirm(ctx, exec)
	case gateway.Declined:
		return u.decline(ctx, exec)
	default:
		return u.suspend(ctx, exec)
	}
}

// confirm books a confirmed payment. The last statement makes the payment final and
// sets persisted_at, so that a payment with persisted_at is complete.
func (u *unit) confirm(ctx context.Context, exec execFunc) error {
	const entry = "INSERT INTO ledger_entries (payment_id, side, account, amount) VALUES (?, ?, ?, ?)"
	if _, err := exec(ctx, entry, u.ID, "debit", fmt.Sprint("account:", u.Account), u.Amount); err != nil {
		return err
	}
	if _, err := exec(ctx, entry, u.ID, "credit", "gateway:"+u.gateway, u.Amount); err != nil {
		return err
	}
	if err := u.change(ctx, exec, "UPDATE accounts SET balance = balance - ? WHERE id = ?", u.Amount, u.Account); err != nil {
		return err
	}
	if err := u.publish(ctx, exec, stateConfirmed, "payment-confirmed"); err != nil {
		return err
	}
	from := u.state
	u.state = stateConfirmed
	return u.change(ctx, exec, "UPDATE payments SET state = ?, gateway_status = ?, persisted_at = CURRENT_TIMESTAMP(6) WHERE id = ? AND state = ?",
		u.state, u.answer.Status, u.ID, from)
}

// decline records that no money moved.
func (u *unit) decline(ctx context.Context, exec execFunc) error {
	if err := u.publish(ctx, exec, stateDeclined, "payment-declined"); err != nil {
		return err
	}
	from := u.state
	u.state = stateDeclined
	return u.change(ctx, exec, "UPDATE payments SET state = ?, gateway_status = ? WHERE id = ? AND state = ?",
		u.state, u.answer.Status, u.ID, from)
}

// suspend leaves the payment to the reconciliation, whose entry is written first: after
// a crash in between no payment is forgotten.
func (u *unit) suspend(ctx context.Context, exec execFunc) error {
	_, err := exec(ctx, "INSERT INTO pending_payments (payment_id, due_at) VALUES (?, TIMESTAMPADD(MICROSECOND, ?, CURRENT_TIMESTAMP(6)))",
		u.ID, u.askAfter.Microseconds())
	if err != nil {
		return err
	}
	from := u.state
	u.state = statePending
	return u.change(ctx, exec, "UPDATE payments SET state = ? WHERE id = ? AND state = ?", u.state, u.ID, from)
}

// publish writes the payment's records for others: the outbox for customers, and the
// audit log.
func (u *unit) publish(ctx context.Context, exec execFunc, state, topic string) error {
	if _, err := exec(ctx, "INSERT INTO outbox (payment_id, topic) VALUES (?, ?)", u.ID, topic); err != nil {
		return err
	}
	from := stateCreated
	if u.state == statePending {
		from = statePending
	}
	_, err := exec(ctx, "INSERT INTO audit_log (payment_id, change_made) VALUES (?, ?)", u.ID, from+" to "+state)
	return err
}

// change runs an UPDATE that must change exactly one row.
func (u *unit) change(ctx context.Context, exec execFunc, query string, args ...any) error {
	n, err := exec(ctx, query, args...)
	if err == nil && n != 1 {
		err = fmt.Errorf("payment %s: %q changed %d rows", u.ID, query, n)
	}
	return err
}
