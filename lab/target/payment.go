package target

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"assay.dev/assay/lab/target/gateway"
)

// States of a payment: in order up to SENT, then by the gateway's answer. PENDING ends
// when the gateway has been queried again.
const (
	stateCreated   = "CREATED"
	stateRouted    = "ROUTED"
	stateSent      = "SENT"
	stateConfirmed = "CONFIRMED"
	stateDeclined  = "DECLINED" // a business outcome, not a failure
	statePending   = "PENDING"  // the gateway did not respond: the money may have moved or not
)

// Errors of the caller, as opposed to failures of the database.
var (
	errNotFound   = errors.New("not found")
	errInProgress = errors.New("a payment with this idempotency_key is in progress")
	errReused     = errors.New("idempotency_key was used for another payment")
	errIDTaken    = errors.New("id belongs to another payment")
	errRepeated   = errors.New("idempotency_key exists") // internal: the response is the existing payment
)

// payment is a payment as stored and returned.
type payment struct {
	ID            string     `json:"id"`
	State         string     `json:"state"`
	RunID         string     `json:"run_id"`
	Mode          string     `json:"mode"`
	Amount        int64      `json:"amount"`
	Account       uint32     `json:"account"`
	GatewayStatus string     `json:"gateway_status,omitempty"`
	PersistedAt   *time.Time `json:"persisted_at,omitempty"` // when it became CONFIRMED
}

// payments makes payments in one of the commit modes.
type payments struct {
	db       *database
	gateways *gateway.Gateways
	commits  Commits
	accounts int              // number of accounts used
	askAfter time.Duration    // before a PENDING payment is queried
	batches  *group[*batched] // nil unless commits is CommitBatched
}

// unit is one payment in progress, with the results of the reads and the gateway.
type unit struct {
	paymentRequest
	gateway  string // name of its mode's gateway
	answer   gateway.Answer
	askAfter time.Duration
	state    string // last one written
}

// create makes the payment and returns it with created true, or returns an earlier
// payment with the same idempotency key. After an error nothing may be acknowledged.
func (p *payments) create(ctx context.Context, req paymentRequest) (made payment, created bool, err error) {
	req.Account = 1 + (req.Account-1)%uint32(p.accounts)
	pool := p.db.scope()
	defer pool.close()
	switch made, err = p.repeated(ctx, pool, req); {
	case err == nil:
		return made, false, nil
	case !errors.Is(err, errNotFound):
		return payment{}, false, err
	}
	u := unit{paymentRequest: req, askAfter: p.askAfter}
	if err := u.route(ctx, pool); err != nil {
		return payment{}, false, err
	}
	switch p.commits {
	case CommitTransaction:
		err = p.inOneTransaction(ctx, pool, &u)
	case CommitBatched:
		err = p.inBatch(ctx, &u)
	default:
		err = p.byStatement(ctx, pool, &u)
	}
	if errors.Is(err, errRepeated) { // by a concurrent request
		if made, err = p.repeated(ctx, pool, req); errors.Is(err, errNotFound) {
			err = errInProgress
		}
		return made, false, err
	}
	if err != nil {
		return payment{}, false, err
	}
	return payment{ID: u.ID, State: u.state}, true, nil
}

// repeated finds the payment of the request's idempotency key.
func (p *payments) repeated(ctx context.Context, pool scope, req paymentRequest) (payment, error) {
	var id string
	err := pool.row(ctx, []any{&id}, "SELECT payment_id FROM idempotency_keys WHERE idempotency_key = ?", req.IdempotencyKey)
	if errors.Is(err, sql.ErrNoRows) {
		return payment{}, errNotFound
	} else if err != nil {
		return payment{}, err
	}
	found, err := p.find(ctx, pool, id)
	if errors.Is(err, errNotFound) {
		// The key exists without its payment: with auto-commit another request is between
		// two commits, or crashed there, which cannot be distinguished.
		return payment{}, errInProgress
	} else if err != nil {
		return payment{}, err
	}
	if found.Mode != req.Mode || found.Amount != req.Amount || found.Account != req.Account || found.RunID != req.RunID {
		return payment{}, errReused
	}
	return found, nil
}

func (p *payments) find(ctx context.Context, pool scope, id string) (payment, error) {
	var f payment
	var status sql.NullString
	err := pool.row(ctx, []any{&f.ID, &f.State, &f.RunID, &f.Mode, &f.Amount, &f.Account, &status, &f.PersistedAt},
		"SELECT id, state, run_id, mode, amount, account, gateway_status, persisted_at FROM payments WHERE id = ?", id)
	if errors.Is(err, sql.ErrNoRows) {
		return payment{}, errNotFound
	}
	f.GatewayStatus = status.String
	return f, err
}

// route reads the account and the gateway for the payment's mode.
func (u *unit) route(ctx context.Context, pool scope) error {
	var balance int64
	if err := pool.row(ctx, []any{&balance}, "SELECT balance FROM accounts WHERE id = ?", u.Account); err != nil {
		return err
	}
	return pool.row(ctx, []any{&u.gateway}, "SELECT gateway FROM gateway_routes WHERE mode = ?", u.Mode)
}

// charge charges the payment by the gateway.
func (p *payments) charge(ctx context.Context, u *unit) (err error) {
	u.answer, err = p.gateways.Charge(ctx, u.Mode, u.ID)
	return err
}

// byStatement commits every statement, and calls the gateway between them.
func (p *payments) byStatement(ctx context.Context, pool scope, u *unit) error {
	if err := u.accept(ctx, pool.exec); err != nil {
		return err
	}
	if err := p.charge(ctx, u); err != nil {
		return err
	}
	return u.conclude(ctx, pool.exec)
}

// inOneTransaction calls the gateway first: a transaction open during the call would
// hold a connection and the account's row. A provider recognises a repeated call by its
// idempotency key, so a payment whose transaction fails is charged once, and is made
// when the caller retries.
func (p *payments) inOneTransaction(ctx context.Context, pool scope, u *unit) error {
	if err := p.charge(ctx, u); err != nil {
		return err
	}
	return pool.inTransaction(ctx, sql.LevelDefault, func(c *conn) error {
		if err := u.accept(ctx, c.exec); err != nil {
			return err
		}
		return u.conclude(ctx, c.exec)
	})
}
