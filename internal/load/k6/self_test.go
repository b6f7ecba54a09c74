package k6

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"assay.dev/assay/internal/observe/metric"
)

// The time in the run queue is the sum over all threads. A kernel that does not report it
// gives no data, not 0.
func TestQueueSeconds(t *testing.T) {
	proc := t.TempDir()
	threads := filepath.Join(proc, strconv.Itoa(os.Getpid()), "task")
	if got := queueSeconds(filepath.Join(proc, "missing")); got.known {
		t.Errorf("without /proc: %+v", got)
	}
	for _, id := range []string{"7", "8"} {
		if err := os.MkdirAll(filepath.Join(threads, id), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if got := queueSeconds(proc); got.known {
		t.Errorf("not reported: %+v", got)
	}
	for id, text := range map[string]string{"7": "100 1500000000 3\n", "8": "200 500000000 4\n"} {
		if err := os.WriteFile(filepath.Join(threads, id, "schedstat"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got := queueSeconds(proc); got != (queueTime{2, true}) {
		t.Errorf("%+v, want 2 s", got)
	}
	m := newSelfMeter(metric.WorkerSource(0))
	m.queued = queueTime{}
	for _, p := range m.points() {
		if p.Series.Name == metric.WorkerRunQueue {
			t.Errorf("%g s since a reading that is not known", p.Value)
		}
	}
}
