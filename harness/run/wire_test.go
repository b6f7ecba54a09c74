package run_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"assay/harness/judge/verdict"
)

// wire stands between the workers and their coordinator. Cut, it accepts
// nothing; deaf, it passes requests on and cuts before the answer.
type wire struct {
	listener net.Listener
	address  string // a file that will hold the coordinator's address
	state    atomic.Int32
	mu       sync.Mutex
	open     map[net.Conn]bool
	refused  atomic.Int64 // connections, while cut
	unheard  atomic.Int64 // answers, while deaf
}

const (
	passing = int32(iota)
	cut
	deaf
)

func (w *wire) set(state int32) {
	w.state.Store(state)
	w.mu.Lock()
	defer w.mu.Unlock()
	for c := range w.open {
		_ = c.Close()
	}
}

func (w *wire) serve() {
	for {
		c, err := w.listener.Accept()
		if err != nil {
			return
		}
		go w.pass(c)
	}
}

func (w *wire) pass(from net.Conn) {
	defer from.Close()
	if w.state.Load() == cut {
		w.refused.Add(1)
		return
	}
	address, err := os.ReadFile(w.address)
	if err != nil {
		return
	}
	to, err := net.Dial("tcp", strings.TrimPrefix(strings.TrimSpace(string(address)), "http://"))
	if err != nil {
		return
	}
	defer to.Close()
	w.mu.Lock()
	w.open[from] = true
	w.mu.Unlock()
	go func() {
		_, _ = io.Copy(to, from)
		_ = to.Close()
	}()
	buffer := make([]byte, 32<<10)
	for {
		n, err := to.Read(buffer)
		if n > 0 && w.state.Load() == deaf {
			w.unheard.Add(1)
			return // the coordinator has answered, and nobody hears it
		}
		if _, writeErr := from.Write(buffer[:n]); err != nil || writeErr != nil {
			return
		}
	}
}

// The coordinator out of reach for five seconds, and for three more its answers
// lost: frames and acknowledgements come again, and count once.
func TestCoordinatorOutage(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	dir := t.TempDir()
	w := &wire{listener: listener, address: filepath.Join(dir, "address"), open: map[net.Conn]bool{}}
	go w.serve()
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer server.Close()
	o := options(t, loose(steady(100, 14*time.Second)), ackScript, server.URL)
	// Workers are started through a program that leads their line over the wire.
	through := filepath.Join(dir, "through")
	script := fmt.Sprintf("#!/bin/sh\ntest -z \"$ASSAY_COORDINATOR\" || { echo \"$ASSAY_COORDINATOR\" > %s; export ASSAY_COORDINATOR=http://%s; }\nexec %s \"$@\"\n",
		w.address, listener.Addr(), o.Executable)
	if err := os.WriteFile(through, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	o.Executable = through
	o.Progress = during(time.Second, func() {
		w.set(cut)
		time.Sleep(5 * time.Second)
		w.set(deaf)
		time.Sleep(3 * time.Second)
		w.set(passing)
	})
	r := certify(t, o)
	if w.refused.Load() < 4 || w.unheard.Load() < 2 {
		t.Errorf("%d connections refused, %d answers unheard: the test has tested nothing", w.refused.Load(), w.unheard.Load())
	}
	scheduled, outcomes := accounted(t, r)
	if scheduled != r.Plan.Load.Arrivals() || outcomes["completed"] != scheduled {
		t.Errorf("%d of %d transactions were scheduled, and ended %v", scheduled, r.Plan.Load.Arrivals(), outcomes)
	}
	v := verdict.Judge(r)
	if found := broken(v); len(found) > 0 {
		t.Errorf("broken: %v", found)
	}
	acks := acknowledged(t, o)
	if len(acks) != int(scheduled) {
		t.Errorf("%d identities were acknowledged once, want %d", len(acks), scheduled)
	}
	for id, n := range acks {
		if n != 1 {
			t.Errorf("%s was acknowledged %d times", id, n)
		}
	}
	t.Logf("%d connections refused, %d answers unheard; %s", w.refused.Load(), w.unheard.Load(), v.Claim)
}

// ackScript acknowledges every transaction.
const ackScript = `
import http from 'k6/http';
import exec from 'k6/execution';
import { Counter } from 'k6/metrics';
const acknowledged = new Counter('ledger_acknowledged');
export default function () {
  http.get(__ENV.ASSAY_TARGET + '/', { tags: { name: 'get' } });
  exec.vu.metrics.metadata.ledger_id = exec.vu.idInTest + '-' + exec.vu.iterationInInstance;
  acknowledged.add(1);
  delete exec.vu.metrics.metadata.ledger_id;
}
`
