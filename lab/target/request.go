package target

import (
	"cmp"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"

	"assay.dev/assay/lab/target/gateway"
)

// Limits of requests, which match the columns of schema.sql.
const (
	maxBodyBytes = 4 << 10
	maxIDLen     = 64
	maxNameLen   = 128
	maxAmount    = 1_000_000_000_000 // minor units
)

// paymentRequest is the body of POST /payments.
type paymentRequest struct {
	ID             string `json:"id"` // generated when empty
	RunID          string `json:"run_id"`
	IdempotencyKey string `json:"idempotency_key"`
	Mode           string `json:"mode"`
	Amount         int64  `json:"amount"`  // minor units
	Account        uint32 `json:"account"` // 1 to Accounts
}

func parsePayment(body io.Reader) (paymentRequest, error) {
	var p paymentRequest
	if err := decodeStrictly(body, &p); err != nil {
		return p, err
	}
	if p.ID == "" {
		p.ID = rand.Text()
	}
	if err := cmp.Or(checkID("id", p.ID), checkID("run_id", p.RunID), checkID("idempotency_key", p.IdempotencyKey)); err != nil {
		return p, err
	}
	if !gateway.Known(p.Mode) {
		return p, fmt.Errorf("mode: want %s", strings.Join(gateway.Modes[:], ", "))
	}
	if p.Amount < 1 || p.Amount > maxAmount {
		return p, fmt.Errorf("amount: want 1 to %d", int64(maxAmount))
	}
	if p.Account < 1 || p.Account > Accounts {
		return p, fmt.Errorf("account: want 1 to %d", Accounts)
	}
	return p, nil
}

// event is one ingested event.
type event struct {
	ID    string  `json:"id"` // generated when empty
	RunID string  `json:"run_id"`
	Name  string  `json:"name"`
	Value float64 `json:"value"`
}

func parseEventBody(body io.Reader) (event, error) {
	var e event
	if err := decodeStrictly(body, &e); err != nil {
		return e, err
	}
	return e.checked()
}

func parseEventQuery(q url.Values) (event, error) {
	e := event{ID: q.Get("id"), RunID: q.Get("run_id"), Name: q.Get("name")}
	for key, values := range q {
		switch key {
		case "id", "run_id", "name", "value":
		default:
			return e, fmt.Errorf("%.32q: unknown parameter", key)
		}
		if len(values) > 1 {
			return e, fmt.Errorf("%s: given twice", key)
		}
	}
	var err error
	if e.Value, err = strconv.ParseFloat(q.Get("value"), 64); err != nil {
		return e, errors.New("value: want a number")
	}
	return e.checked()
}

func (e event) checked() (event, error) {
	if e.ID == "" {
		e.ID = rand.Text()
	}
	if err := checkID("id", e.ID); err != nil {
		return e, err
	}
	if e.RunID != "" { // an event without a run is allowed
		if err := checkID("run_id", e.RunID); err != nil {
			return e, err
		}
	}
	if e.Name == "" || !utf8.ValidString(e.Name) || utf8.RuneCountInString(e.Name) > maxNameLen {
		return e, fmt.Errorf("name: want 1 to %d characters", maxNameLen)
	}
	if math.IsNaN(e.Value) || math.IsInf(e.Value, 0) {
		return e, errors.New("value: want a finite number")
	}
	return e, nil
}

// decodeStrictly reads one JSON object with known fields only and nothing after it.
func decodeStrictly(r io.Reader, to any) error {
	d := json.NewDecoder(r)
	d.DisallowUnknownFields()
	if err := d.Decode(to); err != nil {
		return fmt.Errorf("body: %w", err)
	}
	if _, err := d.Token(); err != io.EOF {
		return errors.New("body: more than one JSON value")
	}
	return nil
}

func checkID(field, id string) error {
	if len(id) < 1 || len(id) > maxIDLen {
		return fmt.Errorf("%s: want 1 to %d characters", field, maxIDLen)
	}
	for i := range len(id) {
		switch c := id[i]; {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '-', c == '_', c == '.', c == ':':
		default:
			return fmt.Errorf("%s: want letters, digits, '-', '_', '.' and ':' only", field)
		}
	}
	return nil
}
