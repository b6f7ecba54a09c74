//go:build live

package target

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"assay.dev/assay/internal/servers/mysqld"
	"assay.dev/assay/internal/testing/polltest"
)

func testPayments(t *testing.T, server *mysqld.Server) {
	for _, commits := range []Commits{CommitStatement, CommitTransaction, CommitBatched} {
		t.Run(string(commits), func(t *testing.T) {
			s := serve(t, server, func(c *Config) {
				// A batch is full with the eight payments that are made at a time.
				c.Commits, c.BatchSize, c.BatchWait = commits, 8, 200*time.Millisecond
			})
			testCommits(t, s, commits)
			testRows(t, s)
			testIdempotency(t, s)
			testRefusals(t, s)
			testClientDisconnects(t, s, commits)
		})
	}
}

// made is the number of payments that testCommits makes.
const made = 24

// By the server's counters a payment has ten DML statements in every mode, and the
// commits of its mode. Com_commit counts only COMMIT statements, transactions includes
// auto-commits.
func testCommits(t *testing.T, s *service, commits Commits) {
	grew := s.during(t, func() {
		atOnce(made, func(i int) {
			code, answer := s.pay(t, fmt.Sprint("pay-", i))
			if code != http.StatusCreated || answer["id"] != fmt.Sprint("pay-", i) || answer["state"] != "CONFIRMED" {
				t.Errorf("payment %d: %d %v", i, code, answer)
			}
		})
	})
	t.Logf("%d payments: %v", made, grew)
	if dml := grew["Com_insert"] + grew["Com_update"] + grew["Com_delete"]; dml != 10*made {
		t.Errorf("%d DML statements for %d payments, want 10 each", dml, made)
	}
	switch n := grew["Com_commit"]; commits {
	case CommitStatement:
		if n != 0 || grew["transactions"] < 10*made {
			t.Errorf("%d COMMIT, %d transactions, want ten auto-commits per payment", n, grew["transactions"])
		}
	case CommitTransaction:
		if n != made || grew["transactions"] > 5*made { // three SELECTs before it
			t.Errorf("%d COMMIT, %d transactions, want one per payment", n, grew["transactions"])
		}
	case CommitBatched:
		if n < made/8 || n > made/2 { // eight payments at a time share a batch at most
			t.Errorf("%d COMMIT for %d payments, want several payments each", n, made)
		}
	}
}

// Every payment has all of its rows, and the ledger balances.
func testRows(t *testing.T, s *service) {
	for query, want := range map[string]int{
		"SELECT COUNT(*) FROM payments WHERE state = 'CONFIRMED' AND run_id = 'run'":               made,
		"SELECT COUNT(*) FROM idempotency_keys":                                                    made,
		"SELECT COUNT(*) FROM ledger_entries WHERE side = 'debit'":                                 made,
		"SELECT COUNT(*) FROM ledger_entries WHERE side = 'credit'":                                made,
		"SELECT COUNT(*) FROM outbox":                                                              made,
		"SELECT COUNT(*) FROM audit_log":                                                           made,
		"SELECT (SELECT SUM(amount) FROM payments) + (SELECT SUM(balance) FROM accounts)":          0,
		"SELECT SUM(IF(side = 'debit', amount, -amount)) FROM ledger_entries":                      0,
		"SELECT COUNT(*) FROM payments WHERE persisted_at IS NULL OR persisted_at < created_at":    0,
		"SELECT COUNT(*) FROM payments WHERE ABS(TIMESTAMPDIFF(SECOND, persisted_at, NOW())) > 60": 0,
	} {
		if got := s.count(t, query); got != want {
			t.Errorf("%s: %d, want %d", query, got, want)
		}
	}
	code, answer := s.do(t, "GET", "/payments/pay-7", "")
	at, err := time.Parse(time.RFC3339Nano, fmt.Sprint(answer["persisted_at"]))
	if code != http.StatusOK || answer["state"] != "CONFIRMED" || answer["gateway_status"] != "DEBITED" || answer["amount"] != 105.0 {
		t.Errorf("read back: %d %v", code, answer)
	}
	if away := time.Since(at).Abs(); err != nil || away > time.Minute || at.Location() != time.UTC {
		t.Errorf("persisted_at %v is %s from now, in %s: not UTC?", answer["persisted_at"], away, at.Location())
	}
}

func testIdempotency(t *testing.T, s *service) {
	grew := s.during(t, func() {
		if code, answer := s.pay(t, "pay-7"); code != http.StatusOK || answer["id"] != "pay-7" || answer["state"] != "CONFIRMED" {
			t.Errorf("repeated: %d %v", code, answer)
		}
		// The key identifies a repeated payment, not the id, which the caller may have lost.
		body := strings.Replace(paymentBody("pay-8", "pay-8", "wallet", 105), `"id":"pay-8",`, "", 1)
		if code, answer := s.do(t, "POST", "/payments", body); code != http.StatusOK || answer["id"] != "pay-8" {
			t.Errorf("repeated without an id: %d %v", code, answer)
		}
	})
	if n := grew["Com_insert"] + grew["Com_update"] + grew["Com_delete"]; n != 0 {
		t.Errorf("repeating a payment wrote %d statements", n)
	}
	created := make(chan int, 8)
	atOnce(8, func(i int) {
		body := strings.Replace(paymentBody("at-once", "at-once", "upi", 5), `"id":"at-once"`, fmt.Sprintf(`"id":"at-once-%d"`, i), 1)
		code, answer := s.do(t, "POST", "/payments", body)
		switch code {
		case http.StatusCreated:
			created <- i
		case http.StatusOK, http.StatusConflict:
		default:
			t.Errorf("at once: %d %v", code, answer)
		}
	})
	if n := s.count(t, "SELECT COUNT(*) FROM payments WHERE id LIKE 'at-once%'"); len(created) != 1 || n != 1 {
		t.Errorf("one key at once: %d created, %d rows, want 1", len(created), n)
	}
}

func testRefusals(t *testing.T, s *service) {
	for name, tc := range map[string]struct {
		method, path, body string
		code               int
		want               string
	}{
		"key of another payment": {"POST", "/payments", paymentBody("pay-7", "pay-7", "wallet", 999), 422, "another payment"},
		"id of another payment":  {"POST", "/payments", paymentBody("pay-7", "other", "wallet", 105), 409, "another payment"},
		"invalid":                {"POST", "/payments", paymentBody("x", "x", "cash", 1), 400, "mode"},
		"too large":              {"POST", "/payments", `{"id":"` + strings.Repeat("x", 5000) + `"}`, 413, "too large"},
		"no such payment":        {"GET", "/payments/none", "", 404, "not found"},
		"other case":             {"GET", "/payments/PAY-7", "", 404, "not found"},
		"no such route":          {"GET", "/admin", "", 404, "no such route"},
	} {
		code, answer := s.do(t, tc.method, tc.path, tc.body)
		if text := fmt.Sprint(answer["error"]); code != tc.code || !strings.Contains(text, tc.want) {
			t.Errorf("%s: %d %v, want %d %s", name, code, answer, tc.code, tc.want)
		}
	}
	if n := s.count(t, "SELECT COUNT(*) FROM idempotency_keys WHERE idempotency_key = 'other'"); n != 0 {
		t.Error("a refused payment kept its idempotency key")
	}
}

// A client that disconnects before the response gets no acknowledgement, and breaks no
// connection to the database.
func testClientDisconnects(t *testing.T, s *service, commits Commits) {
	const left = `http_request_duration_seconds_count{code="499",route="POST /payments"}`
	grew := s.during(t, func() {
		// In the middle of a payment, which waits for its account's row, locked here.
		hold, err := s.db.BeginTx(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer hold.Rollback()
		if _, err := hold.Exec("SELECT id FROM accounts FOR UPDATE"); err != nil {
			t.Fatal(err)
		}
		ctx, leave := context.WithCancel(t.Context())
		defer leave()
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.base+"/payments", strings.NewReader(paymentBody("left", "left", "upi", 1)))
		if err != nil {
			t.Fatal(err)
		}
		gone := make(chan struct{})
		go func() {
			defer close(gone)
			if res, err := s.client.Do(req); err == nil {
				_ = res.Body.Close()
				t.Errorf("acknowledged: %s", res.Status)
			}
		}()
		polltest.Until(t, "the payment waits", func() bool {
			// Not information_schema.innodb_trx: it is refreshed only when
			// nobody has read it for 0.1 s.
			var name string
			var waits int
			if err := s.db.QueryRow("SHOW GLOBAL STATUS LIKE 'Innodb_row_lock_current_waits'").Scan(&name, &waits); err != nil {
				t.Fatal(err)
			}
			return waits == 1
		})
		leave()
		<-gone
		time.Sleep(2 * time.Second) // until the service has noticed
		hold.Rollback()
		polltest.Until(t, left, func() bool { n, _ := s.lookup(t, left); return n == 1 })
	})
	if grew["Aborted_clients"] != 0 {
		t.Errorf("%d connections to the database broken", grew["Aborted_clients"])
	}
	// What is stored of the payment depends on the commit mode; an incomplete one is never
	// final.
	switch state, final := s.leftOver(t); {
	case commits == CommitStatement && state != "SENT",
		commits == CommitTransaction && state != "",
		final != (state == "CONFIRMED"):
		t.Errorf("%s left a payment in state %q, final %t", commits, state, final)
	}
	if code, _ := s.pay(t, "after"); code != http.StatusCreated {
		t.Errorf("next payment: %d", code)
	}
}

func (s *service) leftOver(t *testing.T) (state string, final bool) {
	t.Helper()
	err := s.db.QueryRow("SELECT state, persisted_at IS NOT NULL FROM payments WHERE id = 'left'").Scan(&state, &final)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		t.Fatal(err)
	}
	return state, final
}

// Accounts of requests are mapped to the configured number, also when a repeated request
// is compared with the stored payment.
func testFewAccounts(t *testing.T, server *mysqld.Server) {
	s := serve(t, server, func(c *Config) { c.Accounts = 2 })
	for _, account := range []int{1, 2, 3, 10_000} {
		id := fmt.Sprint("of-", account)
		body := fmt.Sprintf(`{"id":%q,"run_id":"run","idempotency_key":%q,"mode":"wallet","amount":100,"account":%d}`, id, id, account)
		for _, want := range []int{http.StatusCreated, http.StatusOK} {
			if got, answer := s.do(t, "POST", "/payments", body); got != want {
				t.Errorf("account %d: %d %v, want %d", account, got, answer, want)
			}
		}
	}
	for query, want := range map[string]int{
		"SELECT COUNT(*) FROM accounts WHERE balance = -200 AND id IN (1, 2)":             2,
		"SELECT COUNT(*) FROM accounts WHERE balance <> 0":                                2,
		"SELECT COUNT(*) FROM ledger_entries WHERE account IN ('account:1', 'account:2')": 4,
		"SELECT COUNT(*) FROM payments WHERE id IN ('of-1', 'of-3') AND account = 1":      2,
		"SELECT COUNT(*) FROM payments WHERE id IN ('of-2', 'of-10000') AND account = 2":  2,
	} {
		if got := s.count(t, query); got != want {
			t.Errorf("%s: %d, want %d", query, got, want)
		}
	}
}
