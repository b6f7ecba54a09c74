//go:build live

package run_test

import (
	"encoding/csv"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"syscall"
	"testing"
	"time"

	"assay.dev/assay/internal/judge/verdict"
	"assay.dev/assay/internal/rulebook"
	"assay.dev/assay/internal/testing/processtest"
)

// rawDurations reads a metric's samples from k6's CSV output, in ms.
func rawDurations(t *testing.T, path, name string) (values []float64) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rows := csv.NewReader(f)
	rows.FieldsPerRecord = -1
	for {
		row, err := rows.Read()
		if errors.Is(err, io.EOF) {
			return values
		}
		if err != nil {
			t.Fatal(err)
		}
		if row[0] != name {
			continue
		}
		v, err := strconv.ParseFloat(row[2], 64)
		if err != nil {
			t.Fatal(err)
		}
		values = append(values, v)
	}
}

// When the generator itself is stopped for 5 s, the delays are its own: the run is
// INVALID, not FAIL.
func TestGeneratorStallsInvalidate(t *testing.T) {
	t.Parallel()
	cpus(t, 0.25)
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer server.Close()
	p := steady(200, 12*time.Second)
	p.Rules = displaced(0.1)
	// A busy machine answers the requests that have waited in the generator late, but not
	// that late.
	p.Flows[0].SLOs[0].Expression, p.Flows[0].SLOs[0].Bound = "p(95)<1000", 1000
	o := options(t, p, getScript, server.URL)
	stopped := make(chan error, 1)
	o.Progress = during(2*time.Second, func() { stopped <- suspend(worker(t, o.ID, 0), 5*time.Second) })
	r := certify(t, o)
	if err := <-stopped; err != nil {
		t.Fatal(err)
	}
	v := verdict.Judge(r)
	if v.Outcome != verdict.Invalid {
		t.Errorf("verdict %s, want INVALID: %s", v.Outcome, v.Claim)
	}
	found := brokenRules(v)
	if found["offered"] == "" {
		t.Errorf("the rule offered is not broken; broken: %v", found)
	}
	maps.DeleteFunc(found, func(id, _ string) bool { return rulebook.Blames(id) == rulebook.Generator })
	if len(found) > 0 {
		t.Errorf("broken as well: %v", found)
	}
}

// suspend suspends a process for the given time.
func suspend(pid int, length time.Duration) error {
	if err := processtest.Suspend(pid); err != nil {
		return err
	}
	time.Sleep(length)
	return syscall.Kill(pid, syscall.SIGCONT)
}
