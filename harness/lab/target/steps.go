package target

import (
	"context"
	"fmt"

	code "github.com/go-mysql-org/go-mysql/mysql"

	"assay/harness/lab/target/gateway"
)

// execFunc runs one statement; where it commits is its own business.
type execFunc func(ctx context.Context, query string, args ...any) (affected int64, err error)

// accept and conclude are the ten statements of a confirmed payment, the same
// in every commit mode: what an A/B run compares is the commits and nothing
// else. A declined one has seven, one left open six.
//
// accept writes what must be known before money moves. The idempotency key
// comes first: its primary key decides between two requests at once.
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
		// The key must not keep pointing at somebody else's payment.
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

// conclude writes what the gateway answered.
func (u *unit) conclude(ctx context.Context, exec execFunc) error {
	switch u.answer.Outcome {
	case gateway.Confirmed:
		return u.settle(ctx, exec)
	case gateway.Declined:
		return u.decline(ctx, exec)
	default:
		return u.suspend(ctx, exec)
	}
}

// settle books what the gateway confirmed. The last statement makes the payment
// final and stamps persisted_at, so a stamped payment is a whole one.
func (u *unit) settle(ctx context.Context, exec execFunc) error {
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
	if err := u.tell(ctx, exec, stateConfirmed, "payment-confirmed"); err != nil {
		return err
	}
	from := u.state
	u.state = stateConfirmed
	return u.change(ctx, exec, "UPDATE payments SET state = ?, gateway_status = ?, persisted_at = CURRENT_TIMESTAMP(6) WHERE id = ? AND state = ?",
		u.state, u.answer.Status, u.ID, from)
}

// decline writes that no money moved.
func (u *unit) decline(ctx context.Context, exec execFunc) error {
	if err := u.tell(ctx, exec, stateDeclined, "payment-declined"); err != nil {
		return err
	}
	from := u.state
	u.state = stateDeclined
	return u.change(ctx, exec, "UPDATE payments SET state = ?, gateway_status = ? WHERE id = ? AND state = ?",
		u.state, u.answer.Status, u.ID, from)
}

// suspend leaves the payment to the reconciliation. That it must be asked about
// is written first: who dies in between leaves nothing forgotten.
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

// tell writes what others are to hear of the payment: customers by way of the
// outbox, auditors by the log.
func (u *unit) tell(ctx context.Context, exec execFunc, state, topic string) error {
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

// change runs an UPDATE that must meet exactly one row.
func (u *unit) change(ctx context.Context, exec execFunc, query string, args ...any) error {
	n, err := exec(ctx, query, args...)
	if err == nil && n != 1 {
		err = fmt.Errorf("payment %s: %q changed %d rows", u.ID, query, n)
	}
	return err
}
