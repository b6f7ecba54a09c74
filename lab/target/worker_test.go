//go:build live

package target

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"assay.dev/assay/internal/servers/mysqld"
	"assay.dev/assay/internal/testing/mysqldtest"
	"assay.dev/assay/internal/testing/polltest"
	"assay.dev/assay/lab/target/gateway"
)

// Two services share the outbox, and the payments that a third left open: every payment
// is queried once, ends as its gateway decided, and has one set of ledger entries; every
// notification is sent once.
func testWorkersShare(t *testing.T, server *mysqld.Server) {
	const open = 60
	declines := gateway.All(0.3)
	s := serve(t, server, func(c *Config) {
		c.Gateway.Declines, c.Gateway.Timeouts, c.Gateway.Patience = declines, gateway.All(1), time.Millisecond
		c.Reconcile.After = 0
	})
	atOnce(open, func(i int) {
		if code, answer := s.pay(t, fmt.Sprint("pay-", i)); code != http.StatusAccepted {
			t.Errorf("payment %d: %d %v", i, code, answer)
		}
	})
	// A payment whose service died before it wrote PENDING, and a deleted payment.
	mysqldtest.Exec(t, s.db, "UPDATE payments SET state = 'SENT' WHERE id = 'pay-0'",
		"INSERT INTO pending_payments (payment_id) VALUES ('gone')")

	var both [2]*service
	for i := range both {
		both[i] = s.second(t, server, func(c *Config) {
			c.Gateway.Declines, c.Reconcile.Batch, c.Notify.Batch, c.Notify.Latency = declines, 5, 7, time.Millisecond
		})
	}
	polltest.Until(t, "all is reconciled and sent", func() bool {
		return s.count(t, "SELECT (SELECT COUNT(*) FROM pending_payments) + (SELECT COUNT(*) FROM outbox)") == 0
	})
	sum := func(samples ...string) (total int) {
		for _, b := range both {
			for _, sample := range samples {
				n, _ := b.lookup(t, sample)
				total += int(n)
			}
		}
		return total
	}
	polltest.Until(t, "the last batch is counted", func() bool { return sum("notifications_sent_total") >= open })
	confirmed, declined := sum(`payments_reconciled_total{outcome="confirmed"}`), sum(`payments_reconciled_total{outcome="declined"}`)
	if confirmed+declined != open || declined < open/10 || declined > open/2 {
		t.Errorf("%d confirmed, %d declined of %d", confirmed, declined, open)
	}
	if n := sum(`gateway_duration_seconds_count{call="inquiry",mode="wallet",outcome="confirmed"}`,
		`gateway_duration_seconds_count{call="inquiry",mode="wallet",outcome="declined"}`); n != open {
		t.Errorf("gateways were queried %d times about %d payments", n, open)
	}
	if n := sum("notifications_sent_total"); n != open {
		t.Errorf("%d notifications were sent, want %d", n, open)
	}
	for query, want := range map[string]int{
		"SELECT COUNT(*) FROM payments WHERE state = 'CONFIRMED' AND persisted_at IS NOT NULL":                          confirmed,
		"SELECT COUNT(*) FROM payments WHERE state = 'DECLINED' AND persisted_at IS NULL AND gateway_status='DECLINED'": declined,
		"SELECT COUNT(*) FROM ledger_entries":                                                                       2 * confirmed,
		"SELECT COUNT(*) FROM audit_log WHERE change_made LIKE 'PENDING to %'":                                      open - 1,
		"SELECT COUNT(*) FROM audit_log":                                                                            open,
		"SELECT (SELECT SUM(amount) FROM payments WHERE state = 'CONFIRMED') + (SELECT SUM(balance) FROM accounts)": 0,
	} {
		if got := s.count(t, query); got != want {
			t.Errorf("%s: %d, want %d", query, got, want)
		}
	}
	decided := gateway.New(gateway.Config{Declines: declines, Seed: gateway.DefaultConfig().Seed, Patience: time.Second}, func(gateway.Call) {})
	for i := range open {
		id := fmt.Sprint("pay-", i)
		decision, err := decided.Charge(t.Context(), "wallet", id)
		_, stored := s.do(t, "GET", "/payments/"+id, "")
		if err != nil || stored["state"] != strings.ToUpper(string(decision.Outcome)) {
			t.Errorf("%s is %v, the gateway says %s (%v)", id, stored["state"], decision.Outcome, err)
		}
	}
}

// While its gateway does not respond, a payment is PENDING, is queried again, and is
// counted by the metrics.
func testUnanswered(t *testing.T, server *mysqld.Server) {
	s := serve(t, server, func(*Config) {}).second(t, server, func(c *Config) {
		c.Gateway.Timeouts, c.Gateway.Patience = gateway.All(1), time.Millisecond
	})
	if code, answer := s.pay(t, "open"); code != http.StatusAccepted {
		t.Fatalf("%d %v", code, answer)
	}
	polltest.Until(t, "the gateway was queried three times", func() bool {
		return s.count(t, "SELECT COUNT(*) FROM pending_payments WHERE asked >= 3") == 1
	})
	polltest.Until(t, "the pending payment is counted", func() bool { return s.metric(t, "payments_pending") == 1 })
	if _, stored := s.do(t, "GET", "/payments/open", ""); stored["state"] != "PENDING" {
		t.Errorf("it is %v", stored)
	}
	if n := s.metric(t, `gateway_duration_seconds_count{call="inquiry",mode="wallet",outcome="timeout"}`); n < 2 {
		t.Errorf("%v inquiries without an answer are counted", n)
	}
}

// A drain finishes the current batch and leaves the rest to another service. Without a
// drain the current batch is left as a whole.
func testWorkersStop(t *testing.T, server *mysqld.Server) {
	for _, drain := range []bool{true, false} {
		t.Run(fmt.Sprint("drain ", drain), func(t *testing.T) {
			const payments, batch = 40, 5
			s := serve(t, server, func(*Config) {})
			atOnce(payments, func(i int) { s.pay(t, fmt.Sprint("pay-", i)) })
			slow := s.second(t, server, func(c *Config) {
				c.Notify.Batch, c.Notify.Latency, c.Drain = batch, 200*time.Millisecond, drain
			})
			polltest.Until(t, "some are sent", func() bool { n, _ := slow.lookup(t, "notifications_sent_total"); return n > 0 })
			if err := slow.stop(); err != nil {
				t.Errorf("stop: %v", err)
			}
			left := func() int { return s.count(t, "SELECT COUNT(*) FROM outbox") }
			if n := left(); n == 0 || n == payments || n%batch != 0 {
				t.Errorf("%d of %d notifications are left, in batches of %d", n, payments, batch)
			}
			// No row stays locked.
			s.second(t, server, func(*Config) {})
			polltest.Until(t, "the next service sends the rest", func() bool { return left() == 0 })
		})
	}
}
