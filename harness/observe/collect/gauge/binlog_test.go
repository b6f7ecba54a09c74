package gauge_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"assay/harness/observe/collect/gauge"
	"assay/harness/observe/metric"
	"assay/harness/polltest"
	"assay/harness/servers/mysqld/mysqldtest"
	"assay/harness/spec"
)

// awaitScrapes waits until the readings of two seconds were answered.
func awaitScrapes(t *testing.T, scrapes *atomic.Int64) {
	t.Helper()
	end, want := time.Now().Add(2200*time.Millisecond), scrapes.Load()+3
	polltest.Until(t, "the gauge is read", func() bool { return time.Now().After(end) && scrapes.Load() >= want })
}

// The lag that a reader exposes is read each second: the largest of all tasks, converted
// from the unit that the profile names.
func TestExposedLag(t *testing.T) {
	t.Parallel()
	var seconds, scrapes atomic.Int64
	seconds.Store(3)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		scrapes.Add(1)
		_, _ = fmt.Fprintf(w, "# TYPE cdc_lag gauge\ncdc_lag{task=\"0\"} 1.5\ncdc_lag{task=\"1\"} %d\ncdc_lag_other 99\n", seconds.Load())
	}))
	defer server.Close()
	o := gauge.Options{Profile: spec.Profile{Reader: &spec.Lag{Metric: "cdc_lag", Unit: spec.UnitSeconds}}, Service: server.URL + "/metrics"}
	all := watch(t, o, func() {
		for _, lag := range []int64{3, 7} {
			seconds.Store(lag)
			awaitScrapes(t, &scrapes)
		}
	})
	got := lags(all, metric.BinlogReaderLag)
	if len(got) < 3 || got[0] != 3000 || got[len(got)-1] != 7000 {
		t.Errorf("readings %v, want 3000 first and 7000 last", got)
	}
	o.Profile.Reader = &spec.Lag{Metric: "cdc_lag_unknown", Unit: spec.UnitMs}
	if err := examine(t, o); err == nil || !strings.Contains(err.Error(), "has no metric cdc_lag_unknown") {
		t.Errorf("%v", err)
	}
	o.Profile.Reader = &spec.Lag{Metric: "cdc_lag", Unit: spec.UnitMs, URL: "http://192.0.2.1/metrics"}
	if err := examine(t, o); err == nil || !strings.Contains(err.Error(), "neither loopback nor the target's host") {
		t.Errorf("%v", err)
	}
}

// Before it has read anything a binlog reader reports -1. That is not a lag, so these
// seconds have no value.
func TestNoLag(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = fmt.Fprint(w, "cdc_lag -1\n")
	}))
	defer server.Close()
	o := gauge.Options{Profile: spec.Profile{Reader: &spec.Lag{Metric: "cdc_lag", Unit: spec.UnitMs}}, Service: server.URL}
	all := watch(t, o, func() { time.Sleep(1200 * time.Millisecond) })
	if got := lags(all, metric.BinlogReaderLag); len(got) > 0 {
		t.Errorf("readings %v, want none", got)
	}
}

// A lag that a reader stores in the database is read by the profile's query.
func TestLagBySQL(t *testing.T) {
	t.Parallel()
	server := mysqldtest.StartInMemory(t, "mariadb")
	root := mysqldtest.Open(t, server.DSN())
	mysqldtest.Exec(t, root, "CREATE DATABASE cdc", "CREATE TABLE cdc.progress (lag_ms DOUBLE)", "INSERT INTO cdc.progress VALUES (1234.5)")
	o := gauge.Options{Database: server.DSN(), Profile: spec.Profile{Reader: &spec.Lag{SQL: "SELECT MAX(lag_ms) FROM cdc.progress"}}}
	all := watch(t, o, func() { time.Sleep(3 * time.Second) })
	if got := lags(all, metric.BinlogReaderLag); len(got) == 0 || got[0] != 1234.5 {
		t.Errorf("readings %v, want 1234.5", got)
	}
	mysqldtest.Exec(t, root, "DELETE FROM cdc.progress")
	if err := examine(t, o); err == nil || !strings.Contains(err.Error(), "returns no lag") {
		t.Errorf("%v", err)
	}
	o.Database = ""
	if err := examine(t, o); err == nil || !strings.Contains(err.Error(), "no database is named") {
		t.Errorf("%v", err)
	}
}
