//go:build live

package gauge_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"assay.dev/assay/internal/observe/collect/gauge"
	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/spec"
	"assay.dev/assay/internal/testing/budget"
	"assay.dev/assay/internal/testing/mysqldtest"
	"assay.dev/assay/internal/testing/polltest"
)

// The lag that a reader exposes is read each second: the largest of all tasks, converted
// from the unit that the profile names.
func TestExposedLag(t *testing.T) {
	t.Parallel()
	budget.CPUs(t, 0.05)
	var seconds atomic.Int64
	seconds.Store(3)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = fmt.Fprintf(w, "# TYPE cdc_lag gauge\ncdc_lag{task=\"0\"} 1.5\ncdc_lag{task=\"1\"} %d\ncdc_lag_other 99\n", seconds.Load())
	}))
	defer server.Close()
	o := gauge.Options{Profile: spec.Profile{Reader: &spec.Lag{Metric: "cdc_lag", Unit: spec.UnitSeconds}}, Service: server.URL + "/metrics"}
	watch(t, o, func(w *watched) {
		w.await(t, "the first lag is read", metric.BinlogReaderLag, is(3000))
		seconds.Store(7)
		w.await(t, "the second lag is read", metric.BinlogReaderLag, is(7000))
		if got := slices.Compact(w.values(metric.BinlogReaderLag)); !slices.Equal(got, []float64{3000, 7000}) {
			t.Errorf("readings %v, want only 3000 and then 7000", got)
		}
	})
	o.Profile.Reader = &spec.Lag{Metric: "cdc_lag_unknown", Unit: spec.UnitMs}
	if err := examine(t, o); err == nil || !strings.Contains(err.Error(), "has no metric cdc_lag_unknown") {
		t.Errorf("%v", err)
	}
	o.Profile.Reader = &spec.Lag{Metric: "cdc_lag", Unit: spec.UnitMs, URL: "http://192.0.2.1/metrics"}
	if err := examine(t, o); err == nil || !strings.Contains(err.Error(), "neither loopback nor the target's host") {
		t.Errorf("%v", err)
	}
}

// Before it has read anything, a binlog reader reports -1, which is no lag, so these seconds
// have no value.
func TestNoLag(t *testing.T) {
	t.Parallel()
	budget.CPUs(t, 0.05)
	var scrapes atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		scrapes.Add(1)
		_, _ = fmt.Fprint(w, "cdc_lag -1\n")
	}))
	defer server.Close()
	o := gauge.Options{Profile: spec.Profile{Reader: &spec.Lag{Metric: "cdc_lag", Unit: spec.UnitMs}}, Service: server.URL}
	watch(t, o, func(w *watched) {
		polltest.Until(t, "two seconds have passed, and the lag was read twice", func() bool {
			return scrapes.Load() > 2 && len(w.readings(metric.BinlogReaderLag, "")) >= 2
		})
		if got := w.values(metric.BinlogReaderLag); len(got) > 0 {
			t.Errorf("readings %v, want none", got)
		}
	})
}

// A lag that a reader stores in the database is read by the profile's query.
func TestLagBySQL(t *testing.T) {
	t.Parallel()
	budget.CPUs(t, 0.5)
	server := mysqldtest.StartInMemory(t, "mariadb")
	root := mysqldtest.Open(t, server.DSN())
	mysqldtest.Exec(t, root, "CREATE DATABASE cdc", "CREATE TABLE cdc.progress (lag_ms DOUBLE)", "INSERT INTO cdc.progress VALUES (1234.5)")
	o := gauge.Options{Database: server.DSN(), Profile: spec.Profile{Reader: &spec.Lag{SQL: "SELECT MAX(lag_ms) FROM cdc.progress"}}}
	watch(t, o, func(w *watched) { w.await(t, "the lag is read", metric.BinlogReaderLag, is(1234.5)) })
	mysqldtest.Exec(t, root, "DELETE FROM cdc.progress")
	if err := examine(t, o); err == nil || !strings.Contains(err.Error(), "returns no lag") {
		t.Errorf("%v", err)
	}
	mysqldtest.Exec(t, root, "DROP TABLE cdc.progress")
	if err := examine(t, o); err == nil || !strings.Contains(err.Error(), "doesn't exist") {
		t.Errorf("%v", err)
	}
	o.Database = ""
	if err := examine(t, o); err == nil || !strings.Contains(err.Error(), "no database is named") {
		t.Errorf("%v", err)
	}
}
