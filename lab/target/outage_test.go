//go:build live

package target

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"assay.dev/assay/internal/servers/mysqld"
	"assay.dev/assay/internal/testing/budget"
	"assay.dev/assay/internal/testing/memorytest"
	"assay.dev/assay/internal/testing/mysqldtest"
	"assay.dev/assay/internal/testing/polltest"
)

// Without its database the service refuses what needs it. After the outage requests and
// workers go on. Meanwhile both log a bounded number of lines.
func TestDatabaseOutage(t *testing.T) {
	t.Parallel()
	budget.CPUs(t, 0.5)
	o := mysqldtest.Prepare(t, mysqld.Options{Dir: memorytest.Folder(t), Binary: mysqldtest.Binary(t, "mariadb")})
	server, err := mysqld.Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = server.Kill() }()
	s := serve(t, server, func(*Config) {})
	if code, answer := s.do(t, "GET", "/healthz", ""); code != http.StatusOK {
		t.Errorf("healthz: %d %v", code, answer)
	}
	if code, _ := s.pay(t, "before"); code != http.StatusCreated {
		t.Errorf("payment: %d", code)
	}
	workers := s.second(t, server, func(c *Config) {
		c.Notify.Every, c.Reconcile.Every = 2*time.Millisecond, 2*time.Millisecond
	})
	sent := func(n float64) func() bool {
		return func() bool { got, _ := workers.lookup(t, "notifications_sent_total"); return got == n }
	}
	polltest.Until(t, "the notification is sent", sent(1))

	begin := time.Now()
	if err := server.Stop(); err != nil {
		t.Fatal(err)
	}
	if code, answer := s.do(t, "GET", "/healthz", ""); code != http.StatusServiceUnavailable || answer["error"] == nil {
		t.Errorf("healthz without a database: %d %v", code, answer)
	}
	const failures = 150
	atOnce(failures, func(i int) {
		if code, answer := s.pay(t, fmt.Sprint("pay-", i)); code != http.StatusServiceUnavailable || answer["error"] != "database failed" {
			t.Errorf("payment without a database: %d %v", code, answer)
		}
	})
	if code, _ := s.do(t, "GET", "/?name=hoge&value=1", ""); code != http.StatusServiceUnavailable {
		t.Errorf("event without a database: %d", code)
	}
	polltest.Until(t, "both workers log errors", func() bool {
		return strings.Contains(workers.log.String(), "relay notifications") && strings.Contains(workers.log.String(), "reconcile payments")
	})
	time.Sleep(300 * time.Millisecond) // in which the workers try a hundred times
	for name, log := range map[string]string{"requests": s.log.String(), "workers": workers.log.String()} {
		lines := strings.Count(log, "level=ERROR")
		if most := 40 + 2*int(time.Since(begin)/time.Second); lines < 1 || lines > most {
			t.Errorf("%s: %d lines logged, want up to %d", name, lines, most)
		}
	}

	o.Port = server.Port()
	if server, err = mysqld.Start(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	if code, answer := s.pay(t, "after"); code != http.StatusCreated {
		t.Errorf("payment after the outage: %d %v", code, answer)
	}
	polltest.Until(t, "its notification is sent", sent(2))
}
