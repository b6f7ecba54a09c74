//go:build live

package worker

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"assay.dev/assay/internal/testing/budget"
	"assay.dev/assay/internal/testing/polltest"
	"assay.dev/assay/internal/wire"
)

// The coordinator's order, or an interrupt, ends k6, and its status is reported.
func TestStopped(t *testing.T) {
	t.Parallel()
	budget.CPUs(t, 0.1)
	const script = "trap 'exit 105' TERM; echo ready; while :; do sleep 0.05; done"
	t.Run("by the coordinator", func(t *testing.T) {
		t.Parallel()
		c := &coordinator{assignment: share(), archive: []byte("tar")}
		go func() {
			polltest.Until(t, "k6 runs", func() bool { return len(c.got(wire.PathLog)) > 0 })
			c.mu.Lock()
			defer c.mu.Unlock()
			c.stop = "enough"
		}()
		// A further output may take long to send what it still holds.
		status, output, err := runWorker(t.Context(), t, c, "trap 'sleep 9; exit 105' TERM; echo ready; while :; do sleep 0.05; done")
		if status != "105" || err != nil || !strings.Contains(output, "worker: stopping: the coordinator ends the load: enough\n") {
			t.Errorf("%q, %v: %s", status, err, output)
		}
	})
	t.Run("interrupted", func(t *testing.T) {
		t.Parallel()
		c := &coordinator{assignment: share(), archive: []byte("tar")}
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			polltest.Until(t, "k6 runs", func() bool { return len(c.got(wire.PathLog)) > 0 })
			cancel()
		}()
		status, output, err := runWorker(ctx, t, c, script)
		if status != "105" || err != nil || !strings.Contains(output, "worker: stopping: interrupted\n") {
			t.Errorf("%q, %v: %s", status, err, output)
		}
	})
	t.Run("ignored by k6", func(t *testing.T) {
		t.Parallel()
		c := &coordinator{assignment: share(), archive: []byte("tar")}
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			polltest.Until(t, "k6 runs", func() bool { return len(c.got(wire.PathLog)) > 0 })
			cancel()
		}()
		begin := time.Now()
		status, output, err := runWorker(ctx, t, c, "trap '' TERM; echo ready; while :; do sleep 0.05; done")
		if status != "signal: killed" || err != nil || time.Since(begin) > time.Minute {
			t.Errorf("%q after %s, %v: %s", status, time.Since(begin), err, output)
		}
	})
	t.Run("before it began", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		c := &coordinator{join: func(w http.ResponseWriter) bool {
			cancel()
			w.WriteHeader(http.StatusAccepted)
			_, _ = io.WriteString(w, `{"joined":1,"of":3}`)
			return true
		}}
		if _, _, err := runWorker(ctx, t, c, "exit 0"); !errors.Is(err, context.Canceled) {
			t.Errorf("%v", err)
		}
	})
}

// A worker whose reports are refused is heard from until its k6 has ended, and says why it ends.
func TestSaysWhyItEnds(t *testing.T) {
	t.Parallel()
	budget.CPUs(t, 0.1)
	c := &coordinator{assignment: share(), archive: []byte("tar"), refuse: wire.PathMetrics}
	at := filepath.Join(t.TempDir(), "parent")
	before := make(chan int, 1)
	go func() {
		polltest.Until(t, "k6 runs", func() bool { _, err := os.Stat(at); return err == nil })
		text, _ := os.ReadFile(at)
		url, token, _ := strings.Cut(string(text), " ")
		if _, err := wire.New(url, token, nil).Frames(t.Context(), []byte("frames")); err != nil {
			t.Error(err)
		}
		polltest.Until(t, "they are refused", func() bool { return len(c.got(wire.PathMetrics)) > 0 })
		before <- len(c.got(wire.PathHeartbeat))
	}()
	status, output, err := runWorker(t.Context(), t, c, "trap 'sleep 3; exit 105' TERM; printf '%s %s' $ASSAY_COORDINATOR $ASSAY_COORDINATOR_TOKEN > "+at+"~; mv "+at+"~ "+at+"; while :; do sleep 0.05; done")
	const why = "worker/1: 1 reports were not delivered: coordinator refused (422): it contradicts itself"
	if status != "105" || err == nil || err.Error() != why {
		t.Errorf("%q, %v: %s", status, err, output)
	}
	if exits := c.got(wire.PathExit); len(exits) != 1 || exits[0] != `{"status":"105","error":"`+why+`"}` {
		t.Errorf("exits %q", exits)
	}
	if first, all := <-before, len(c.got(wire.PathHeartbeat)); all < first+2 {
		t.Errorf("%d heartbeats, %d when the reports were refused", all, first)
	}
}
