package worker

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"assay.dev/assay/internal/hint"
	"assay.dev/assay/internal/servers/scratch"
	"assay.dev/assay/internal/wire"
)

// coordinator answers one worker, and keeps what it received.
type coordinator struct {
	assignment wire.Assignment
	archive    []byte
	join       func(w http.ResponseWriter) bool // answers a request to join; false: it is assigned
	refuse     string                           // the path of messages that it refuses
	stop       string
	patience   time.Duration // with one that does not answer; 0: a minute

	mu       sync.Mutex
	received map[string][]string // bodies by path
}

func (c *coordinator) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	c.mu.Lock()
	c.received[r.URL.Path] = append(c.received[r.URL.Path], string(body))
	stop := c.stop
	c.mu.Unlock()
	switch r.URL.Path {
	case c.refuse:
		http.Error(w, "it contradicts itself", http.StatusUnprocessableEntity)
	case wire.PathJoin:
		if c.join == nil || !c.join(w) {
			_ = json.NewEncoder(w).Encode(c.assignment)
		}
	case wire.PathArchive:
		_, _ = w.Write(c.archive)
	case wire.PathHeartbeat:
		_ = json.NewEncoder(w).Encode(wire.Pulse{Received: time.Now(), Answered: time.Now(), Stop: stop})
	}
}

func (c *coordinator) got(path string) []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.received[path])
}

// runWorker runs a worker whose k6 is a shell script.
func runWorker(ctx context.Context, t *testing.T, c *coordinator, script string) (status, output string, err error) {
	t.Helper()
	c.received = map[string][]string{}
	server := httptest.NewServer(c)
	defer server.Close()
	program := filepath.Join(t.TempDir(), "assay")
	if err := os.WriteFile(program, []byte("#!/bin/sh\n"+script+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	var out bytes.Buffer
	status, err = Run(ctx, Options{URL: server.URL, Token: "token-of-a-test-0123456789", Executable: program, Wait: cmp.Or(c.patience, time.Minute), Dir: dir, Output: &out})
	if left, e := os.ReadDir(dir); e != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, e)
	}
	return status, out.String(), err
}

func digest(data string) string {
	sum := sha256.Sum256([]byte(data))
	return hex.EncodeToString(sum[:])
}

func share() wire.Assignment {
	return wire.Assignment{
		Run: "a-run", Source: "worker/1", Number: 1, Of: 3, Credential: "own", Archive: digest("tar"), Config: json.RawMessage(`{"config":1}`), Session: json.RawMessage(`{"session":1}`),
		Segment: "1/3:2/3", Sequence: "0,1/3,2/3,1", SystemTags: []string{"name", "status"}, Target: "http://127.0.0.1:8080", Seed: 42, Outputs: []string{"csv=raw-%d.csv"},
		Database: "user:the-password@tcp(db)/shop", Nodes: "a=user:the-password@tcp(a)/shop", Env: []string{"WORD=two words", "Z="},
	}
}

// k6 gets the share as arguments without a secret, a clean environment, and the script;
// its log and its exit status are sent.
func TestShareOfTheLoad(t *testing.T) {
	t.Setenv("K6_VUS", "7")
	t.Setenv("ASSAY_SIGNING_KEY", "the-key")
	t.Setenv("ASSAY_JOIN_TOKEN", "the-token")
	t.Setenv("SSL_CERT_FILE", "/srv/ca.pem")
	c := &coordinator{assignment: share(), archive: []byte("tar")}
	status, output, err := runWorker(t.Context(), t, c, `
echo "args $*"; env; printf %s "$ASSAY_DB $ASSAY_DB_NODES" | sha256sum; printf 'half of user:the-pass' >&2; printf 'word@tcp\\(db)/shop\n' >&2; for last; do :; done; cat "$last"; echo
dir=$(dirname "$last"); cat "$dir/k6.json" "$dir/session.json"; exit 7`)
	if status != "7" || err != nil {
		t.Fatalf("%q, %v: %s", status, err, output)
	}
	log := strings.Join(c.got(wire.PathLog), "")
	for _, want := range []string{
		"args k6 run --quiet --no-color --address  --summary-mode disabled --no-thresholds --config ", "--system-tags name,status -e ASSAY_TARGET=http://127.0.0.1:8080 -e ASSAY_RUN=a-run -e ASSAY_WORKER=1 -e ASSAY_SEED=42 -e WORD=two words -e Z= " +
			"--out csv=raw-1.csv --execution-segment 1/3:2/3 --execution-segment-sequence 0,1/3,2/3,1 --no-setup --no-teardown ",
		"ASSAY_DB=***\n", "ASSAY_DB_NODES=***\n", digest("user:the-password@tcp(db)/shop a=user:the-password@tcp(a)/shop") + "  -\n", "half of ***\n", "SSL_CERT_FILE=/srv/ca.pem\n", "ASSAY_SOURCE=worker/1\n", "ASSAY_COORDINATOR=http://127.0.0.1:", "\ntar\n", `{"config":1}{"session":1}`,
	} {
		if !strings.Contains(log, want) {
			t.Errorf("no %q in %s", want, log)
		}
	}
	args, _, _ := strings.Cut(log, "\n")
	for _, secret := range []string{"K6_VUS", "the-key", "the-token", "own\n"} {
		if strings.Contains(log, secret) || strings.Contains(args, "the-") || strings.Contains(output, "the-") {
			t.Errorf("k6 sees %s: %s; %s", secret, log, output)
		}
	}
	if exits := c.got(wire.PathExit); len(exits) != 1 || exits[0] != `{"status":"7"}` {
		t.Errorf("exits %q", exits)
	}
	if !strings.Contains(output, "worker: worker/1 of 3 in run a-run, for http://127.0.0.1:8080\n") {
		t.Errorf("output %s", output)
	}
}

// The first worker runs setup(), and one alone has no segment.
func TestArgumentsOfOneWorker(t *testing.T) {
	a := share()
	a.Setup, a.Sequence = true, ""
	args := strings.Join(arguments(a, "/tmp/w"), " ")
	for _, flag := range []string{"--no-setup", "--no-teardown", "--execution-segment"} {
		if strings.Contains(args, flag) {
			t.Errorf("%s in %s", flag, args)
		}
	}
}

// A script that is not the one that the coordinator announced is not run.
func TestChangedScript(t *testing.T) {
	c := &coordinator{assignment: share(), archive: []byte("tar2")}
	status, _, err := runWorker(t.Context(), t, c, "touch ran; exit 0")
	if err == nil || !strings.Contains(err.Error(), "its digest is "+digest("tar2")+", the coordinator announced "+digest("tar")) || status != "" {
		t.Errorf("%q, %v", status, err)
	}
	if exits := c.got(wire.PathExit); len(exits) != 1 || !strings.Contains(exits[0], "its digest is") {
		t.Errorf("the coordinator was told %q", exits)
	}
}

// A result of setup() that is too large for the coordinator is refused before it is sent,
// in words that name it.
func TestLargeSetup(t *testing.T) {
	link := wire.New("http://127.0.0.1:1", "token", nil) // nobody listens there
	p := parent{session: newSession(link, share(), t.TempDir(), newClock(), t.Logf)}
	w := httptest.NewRecorder()
	p.start(w, httptest.NewRequest(http.MethodPost, wire.PathStart, strings.NewReader(`{"setup":"`+strings.Repeat("x", wire.MaxSetup)+`"}`)))
	if got := w.Body.String(); w.Code != http.StatusRequestEntityTooLarge || got != "setup() returned more than 16 MiB\n" {
		t.Errorf("answer %d, %q", w.Code, got)
	}
}

// Joining says how many workers are missing, and ends with the coordinator's reason, or
// when there is no coordinator.
func TestJoining(t *testing.T) {
	n := 0
	c := &coordinator{assignment: share(), archive: []byte("tar"), join: func(w http.ResponseWriter) bool {
		if n++; n > 2 {
			return false
		}
		w.WriteHeader(http.StatusAccepted)
		_, _ = io.WriteString(w, `{"joined":1,"of":3}`)
		return true
	}}
	if status, output, err := runWorker(t.Context(), t, c, "exit 0"); status != "0" || err != nil || strings.Count(output, "joined: waiting for 2 of 3 workers\n") != 1 {
		t.Errorf("%q, %v: %s", status, err, output)
	}
	c = &coordinator{join: func(w http.ResponseWriter) bool {
		http.Error(w, "the run's token is missing or wrong", http.StatusUnauthorized)
		return true
	}}
	_, _, err := runWorker(t.Context(), t, c, "exit 0")
	if err == nil || !strings.Contains(err.Error(), "the run's token is missing or wrong") || !strings.Contains(hint.Of(err), "ASSAY_JOIN_TOKEN") {
		t.Errorf("%v, hint %q", err, hint.Of(err))
	}
	c = &coordinator{patience: 300 * time.Millisecond, join: func(w http.ResponseWriter) bool { w.WriteHeader(http.StatusServiceUnavailable); return true }}
	if _, _, err = runWorker(t.Context(), t, c, "exit 0"); err == nil || !strings.Contains(hint.Of(err), "--wait") {
		t.Errorf("%v, hint %q", err, hint.Of(err))
	}
}

// A process other than k6 cannot report through the worker.
func TestOnlyK6Reports(t *testing.T) {
	s := newSession(wire.New("http://127.0.0.1:1", "", nil), share(), t.TempDir(), newClock(), func(string, ...any) {})
	p, err := serveK6(s)
	if err != nil {
		t.Fatal(err)
	}
	defer p.close()
	if _, err := wire.New(p.url, "guess", nil).Frames(t.Context(), []byte("frames")); err == nil || s.spool.waiting() > 0 {
		t.Errorf("a stranger's frames were taken: %v", err)
	}
	k6 := wire.New(p.url, p.token, nil)
	state, err := k6.Frames(t.Context(), []byte("frames"))
	if err != nil || state != nil {
		t.Errorf("%v, %v", state, err)
	}
	s.clock.add(exchanged(time.Now(), 500*time.Millisecond, time.Millisecond, 0, time.Millisecond))
	if state, err = k6.Frames(t.Context(), []byte("frames")); err != nil || state == nil || state.OffsetMs != 500 {
		t.Errorf("%+v, %v", state, err)
	}
	if err := k6.Acknowledged(t.Context(), 7, []byte("entries")); err != nil {
		t.Error(err)
	}
	if n := s.spool.waiting(); n != 3 {
		t.Errorf("%d reports wait", n)
	}
}

// Workers that make their folders at the same time do not remove each other's.
func TestFoldersMadeAtOnce(t *testing.T) {
	parent := t.TempDir()
	var all sync.WaitGroup
	for range 16 {
		all.Go(func() {
			for range 20 {
				dir, remove, err := scratch.Make(parent, "assay-worker-")
				if err != nil {
					t.Error(err)
					return
				}
				if err := os.WriteFile(filepath.Join(dir, archiveFile), nil, 0o600); err != nil {
					t.Error(err)
				}
				if err := remove(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	if left, err := os.ReadDir(parent); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}

// The load ends although nobody reads what the worker says, as in a terminal that is stopped.
func TestStopsUnheard(t *testing.T) {
	silent := make(chan struct{})
	defer close(silent)
	s := newSession(wire.New("http://127.0.0.1:1", "", nil), share(), t.TempDir(), newClock(), func(string, ...any) { <-silent })
	go s.stop("one")
	select {
	case <-s.stopping:
	case <-time.After(10 * time.Second):
		t.Fatal("the load goes on")
	}
	s.stop("another") // does not wait for the first
}
