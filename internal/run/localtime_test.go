//go:build live

package run_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"assay.dev/assay/internal/judge/verdict"
	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/spec"
	"assay.dev/assay/internal/testing/mysqldtest"
)

// A service that stores identities as bytes, and local times of the server's time zone in a
// DATETIME, gets its certificate; local times of another zone, or a query for another column,
// make the run INVALID; and a write that is lost is lost in any form.
func TestLedgerOfAnotherForm(t *testing.T) {
	t.Parallel()
	cpus(t, 0.3)
	server := mysqldtest.Start(t, "mariadb")
	root := mysqldtest.Open(t, server.DSN())
	mysqldtest.Exec(t, root, "SET GLOBAL time_zone = '-05:00'", "CREATE DATABASE shop")
	dsn, err := mysql.ParseDSN(server.DSN())
	if err != nil {
		t.Fatal(err)
	}
	dsn.DBName = "shop"
	for name, c := range map[string]struct {
		at, query string
		lose      int64 // one of so many is acknowledged and not stored; 0: none
		want      verdict.Outcome
		says      string
	}{
		"server": {"NOW(6)", "SELECT id, at FROM server WHERE run_id = ?", 0, verdict.Pass, "which are corrected"},
		"tokyo":  {"UTC_TIMESTAMP(6) + INTERVAL 9 HOUR", "SELECT id, at FROM tokyo WHERE run_id = ?", 0, verdict.Invalid, "after they were read"},
		"wrong":  {"UTC_TIMESTAMP(6)", "SELECT number, at FROM wrong WHERE run_id = ?", 0, verdict.Invalid, "identities differ in form"},
		"lost":   {"NOW(6)", "SELECT id, at FROM lost WHERE run_id = ?", 10, verdict.LostWrite, "lost "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			mysqldtest.Exec(t, root, "CREATE TABLE shop."+name+" (number INT AUTO_INCREMENT PRIMARY KEY, id BINARY(16), run_id VARCHAR(60), at DATETIME(6))")
			service := mysqldtest.Open(t, dsn.FormatDSN())
			var n atomic.Int64
			handler := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if c.lose > 0 && n.Add(1)%c.lose == 0 {
					return
				}
				_, err := service.ExecContext(r.Context(), "INSERT INTO "+name+" (id, run_id, at) VALUES (UNHEX(?), ?, "+c.at+")", r.FormValue("id"), r.FormValue("run"))
				if err != nil {
					w.WriteHeader(http.StatusInternalServerError)
				}
			}))
			defer handler.Close()
			o := withAck(t, `
export default function () {
  let id = '';
  for (let i = 0; i < 32; i++) { id += Math.floor(Math.random() * 16).toString(16).toUpperCase(); }
  const r = http.get(__ENV.ASSAY_TARGET + '/?id=' + id + '&run=' + __ENV.ASSAY_RUN);
  if (r.status !== 200) { throw new Error(r.status); }
  ack(id.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-'));
}`, handler.URL)
			f := &o.Profile.Flows[0]
			f.Ledger = &spec.Ledger{Persisted: c.query}
			f.SLOs = append(f.SLOs, spec.SLO{Metric: metric.Ledger, Expression: "missing==0", Aggregate: spec.Exact, Count: "missing", Operator: "=="},
				spec.SLO{Metric: metric.PersistLag, Expression: "max<5000", Aggregate: spec.Max, Operator: "<", Bound: 5000})
			o.DSN = dsn.FormatDSN()
			v := verdict.Judge(certify(t, o))
			all := strings.Join(append(v.Limitations, v.Claim), "\n")
			if v.Outcome != c.want || !strings.Contains(all, c.says) {
				t.Errorf("%s: %s\n%+v", v.Outcome, all, v.Ledger)
			}
			if lag := v.Ledger.PersistLagMs.Max; name == "server" && (lag == nil || *lag > float64(time.Minute.Milliseconds())) {
				t.Error(fmt.Sprint("persist lag ", lag))
			}
			t.Log(v.Claim)
		})
	}
}
