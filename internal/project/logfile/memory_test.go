//go:build live

package logfile

import (
	"bytes"
	"io"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"
	"time"

	"assay.dev/assay/internal/hint"
	"assay.dev/assay/internal/testing/budget"
)

// A hostile log needs a bounded amount of memory.
func TestMemory(t *testing.T) {
	budget.CPUs(t, 0.5)
	const n, most = 215_000, 300 << 20 // requests in more than 200,000 minutes
	log, err := io.ReadAll(&endless{random: rand.New(rand.NewPCG(1, 1)), left: n})
	if err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	inputs, tally, err := Read(t.Context(), []string{Stdin}, Options{Stdin: bytes.NewReader(log)})
	if err != nil {
		t.Fatal(err)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > most {
		t.Errorf("the tally has %d MB, want at most %d", grown>>20, most>>20)
	}
	if inputs[0].Requests != n || tally.Apart == 0 {
		t.Errorf("%d requests, %d apart", inputs[0].Requests, tally.Apart)
	}
	runtime.KeepAlive(tally)
	_, err = Observe(t.Context(), []string{Stdin}, Options{Stdin: bytes.NewReader(log)}, time.UTC)
	if err == nil || !strings.Contains(err.Error(), "requests in more than 200000 minutes") || !strings.Contains(hint.Of(err), "--window 20") {
		t.Errorf("%v: %s", err, hint.Of(err))
	}
}
