//go:build live

package target

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"assay.dev/assay/internal/servers/mysqld"
	"assay.dev/assay/lab/target/gateway"
)

// In every commit mode the gateway's result is in the response, is not an error, and is
// stored.
func testOutcomes(t *testing.T, server *mysqld.Server) {
	for _, commits := range []Commits{CommitStatement, CommitTransaction, CommitBatched} {
		t.Run(string(commits), func(t *testing.T) {
			s := serve(t, server, func(c *Config) {
				c.Commits = commits
				c.Gateway.Declines = gateway.PerMode{0, 1, 0, 0} // card
				c.Gateway.Timeouts = gateway.PerMode{0, 0, 1, 0} // netbanking
				c.Gateway.Patience = 50 * time.Millisecond
			})
			for _, tc := range []struct {
				mode, state, status string
				code, again         int
				statements          int
				final, booked       bool
				outcome             gateway.Outcome
			}{
				{"wallet", "CONFIRMED", "DEBITED", http.StatusCreated, http.StatusOK, 10, true, true, gateway.Confirmed},
				{"card", "DECLINED", "DECLINED", http.StatusCreated, http.StatusOK, 7, false, false, gateway.Declined},
				{"netbanking", "PENDING", "", http.StatusAccepted, http.StatusAccepted, 6, false, false, gateway.TimedOut},
			} {
				body := paymentBody(tc.mode, tc.mode, tc.mode, 700)
				grew := s.during(t, func() {
					code, answer := s.do(t, "POST", "/payments", body)
					if code != tc.code || answer["state"] != tc.state {
						t.Errorf("%s: %d %v, want %d %s", tc.mode, code, answer, tc.code, tc.state)
					}
				})
				if n := grew["Com_insert"] + grew["Com_update"] + grew["Com_delete"]; n != tc.statements {
					t.Errorf("%s: %d statements, want %d", tc.mode, n, tc.statements)
				}
				if code, answer := s.do(t, "POST", "/payments", body); code != tc.again || answer["state"] != tc.state {
					t.Errorf("%s again: %d %v, want %d %s", tc.mode, code, answer, tc.again, tc.state)
				}
				_, stored := s.do(t, "GET", "/payments/"+tc.mode, "")
				status, _ := stored["gateway_status"].(string)
				if stored["state"] != tc.state || status != tc.status || (stored["persisted_at"] != nil) != tc.final {
					t.Errorf("%s is stored as %v", tc.mode, stored)
				}
				if n := s.count(t, "SELECT COUNT(*) FROM ledger_entries WHERE payment_id = ?", tc.mode); (n == 2) != tc.booked || (n == 0) == tc.booked {
					t.Errorf("%s has %d ledger entries", tc.mode, n)
				}
				sample := fmt.Sprintf(`gateway_duration_seconds_count{call="charge",mode="%s",outcome="%s"}`, tc.mode, tc.outcome)
				if n := s.metric(t, sample); n != 1 {
					t.Errorf("%s is %v, want 1", sample, n)
				}
			}
			if waited := s.metric(t, `gateway_duration_seconds_sum{call="charge",mode="netbanking",outcome="timeout"}`); waited < 0.05 {
				t.Errorf("waited %v s for a gateway that does not answer, want its patience", waited)
			}
			for query, want := range map[string]int{
				"SELECT COUNT(*) FROM pending_payments WHERE payment_id = 'netbanking' AND due_at > CURRENT_TIMESTAMP": 1,
				"SELECT COUNT(*) FROM pending_payments":                                         1,
				"SELECT COUNT(*) FROM outbox WHERE topic = 'payment-declined'":                  1,
				"SELECT COUNT(*) FROM outbox":                                                   2,
				"SELECT COUNT(*) FROM audit_log WHERE change_made = 'CREATED to DECLINED'":      1,
				"SELECT SUM(balance) FROM accounts":                                             -700,
				"SELECT COUNT(*) FROM payments WHERE state <> 'CONFIRMED' AND persisted_at > 0": 0,
			} {
				if got := s.count(t, query); got != want {
					t.Errorf("%s: %d, want %d", query, got, want)
				}
			}
		})
	}
}
