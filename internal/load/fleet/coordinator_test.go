package fleet_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"assay.dev/assay/internal/load/fleet"
	"assay.dev/assay/internal/testing/polltest"
	"assay.dev/assay/internal/wire"
)

func anyMetrics(map[string]string) error { return nil }

var (
	tool = wire.Tool{Version: "v1.2.3", Revision: "0123456789abcdef"}
	keys = wire.NewKeys("run", "token")
)

// coordinated is a coordinator and its address.
type coordinated struct {
	*fleet.Coordinator
	url  string
	logs string // folder
}

func coordinate(t *testing.T, workers int, check func(map[string]string) error) coordinated {
	t.Helper()
	c := fleet.NewCoordinator(fleet.Options{Workers: workers, Tool: tool, Keys: keys, Check: check})
	mux := http.NewServeMux()
	c.Routes(mux)
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return coordinated{c, s.URL, t.TempDir()}
}

// hello is what worker i says.
func hello(i int) wire.Hello {
	return wire.Hello{Identity: fmt.Sprint("identity ", i), PID: 1000 + i, Tool: tool, Machine: wire.Machine{Name: fmt.Sprint("host-", i), Namespace: "here"}}
}

// join joins with a number of workers, one after the other, and returns their links.
func (c coordinated) join(t *testing.T, workers int) []*wire.Link {
	t.Helper()
	links := make([]*wire.Link, workers)
	var joining sync.WaitGroup
	for i := range workers {
		joining.Go(func() {
			l := wire.New(c.url, keys.Token(), nil)
			a, _, err := l.Join(t.Context(), hello(i))
			if err != nil {
				t.Error(err)
				return
			}
			links[a.Number] = l.As(*a)
		})
		polltest.Until(t, "the worker has joined", func() bool { return c.Joined() == i+1 })
	}
	all, err := c.AwaitWorkers(t.Context())
	if err != nil || len(all) != workers {
		t.Fatalf("%d workers have joined, %v", len(all), err)
	}
	shares := make([]wire.Assignment, workers)
	for i := range shares {
		shares[i] = wire.Assignment{Number: i, Of: workers, Source: fmt.Sprintf("worker/%d", i), Archive: "aa"}
	}
	c.Assign(shares, []byte("tar"), c.logs)
	joining.Wait()
	for i, l := range links {
		if l == nil {
			t.Fatalf("nobody is worker %d", i)
		}
	}
	return links
}

type started struct {
	t0    time.Time
	setup string
	err   error
}

// wait lets a worker wait for the start.
func wait(ctx context.Context, l *wire.Link, setup string) <-chan started {
	done := make(chan started, 1)
	go func() {
		g, err := l.Start(ctx, json.RawMessage(setup))
		if g == nil {
			g = &wire.StartResponse{}
		}
		done <- started{g.T0, string(g.Setup), err}
	}()
	return done
}

// All workers start at one whole second, with time to prepare, and with the result of
// the worker that ran setup().
func TestBarrier(t *testing.T) {
	c := coordinate(t, 3, anyMetrics)
	worker := c.join(t, 3)
	first := wait(t.Context(), worker[0], `{"token":"a"}`)
	// A worker that connects again while it waits is still one worker.
	impatient, leave := context.WithCancel(t.Context())
	gone := wait(impatient, worker[1], "")
	time.Sleep(50 * time.Millisecond)
	leave()
	if got := <-gone; got.err == nil {
		t.Error("started without the others")
	}
	second := wait(t.Context(), worker[1], "")
	select {
	case got := <-first:
		t.Fatalf("started before all workers were ready: %+v", got)
	case got := <-second:
		t.Fatalf("started before all workers were ready: %+v", got)
	case <-time.After(100 * time.Millisecond):
	}
	before := time.Now()
	third := wait(t.Context(), worker[2], "")
	t0, err := c.AwaitStart(t.Context())
	most, least := t0.Sub(before), time.Until(t0) // ahead of when all were ready
	if err != nil || t0.Nanosecond() != 0 || most < 1500*time.Millisecond || least > 2600*time.Millisecond {
		t.Errorf("t0 is %s, %s to %s ahead, %v", t0, least, most, err)
	}
	// The response may be lost: a repeated request gets the same one.
	for _, got := range []started{<-first, <-second, <-third, <-wait(t.Context(), worker[2], "")} {
		if got.err != nil || !got.t0.Equal(t0) || got.setup != `{"token":"a"}` {
			t.Errorf("started with %+v, want %s", got, t0)
		}
	}
}

// One worker that may not start ends the wait for all.
func TestRefusal(t *testing.T) {
	why := errors.New("thresholds.json:7: unknown metric \"http_req_duratoin\"")
	c := coordinate(t, 2, func(m map[string]string) error {
		if m["http_req_duration"] != "trend" {
			t.Errorf("registered metrics are %v", m)
		}
		if m["odd"] != "" {
			return why
		}
		return nil
	})
	worker := c.join(t, 2)
	if err := worker[0].Ready(t.Context(), wire.Ready{Metrics: map[string]string{"http_req_duration": "trend"}, Archive: "aa", PID: 77}); err != nil {
		t.Fatal(err)
	}
	if pids := c.PIDs("here"); len(pids) != 1 || pids["worker/0"] != 77 || len(c.PIDs("elsewhere")) > 0 {
		t.Errorf("processes %v", pids)
	}
	waiting := wait(t.Context(), worker[0], "")
	err := worker[1].Ready(t.Context(), wire.Ready{Metrics: map[string]string{"http_req_duration": "trend", "odd": "rate"}, Archive: "aa"})
	var refused *wire.RefusedError
	if !errors.As(err, &refused) || refused.Reason != why.Error() {
		t.Errorf("the worker got %v", err)
	}
	if got := <-waiting; !errors.As(got.err, &refused) {
		t.Errorf("the other worker got %v", got.err)
	}
	if _, err := c.AwaitStart(t.Context()); !errors.Is(err, why) {
		t.Errorf("the run got %v", err)
	}
	if pulse, err := worker[0].Heartbeat(t.Context()); err != nil || pulse.Stop == "" {
		t.Errorf("the other worker is not stopped: %+v, %v", pulse, err)
	}
}

// A worker that ends before the start ends the wait; one that ends after it has started, and
// how it ended is left for those who watch the load, however late they ask.
func TestEndAroundTheStart(t *testing.T) {
	for _, c := range []struct {
		status  string
		started bool
	}{{"107", false}, {"0", false}, {"255", true}, {"0", true}} {
		coordinator := coordinate(t, 2, anyMetrics)
		worker := coordinator.join(t, 2)
		if c.started {
			waiting := []<-chan started{wait(t.Context(), worker[0], ""), wait(t.Context(), worker[1], "")}
			for _, w := range waiting {
				<-w
			}
		}
		impatient, leave := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer leave()
		<-wait(impatient, worker[1], "") // it was ready
		if err := worker[1].Exit(t.Context(), wire.Exit{Status: c.status}); err != nil {
			t.Fatal(err)
		}
		t0, err := coordinator.AwaitStart(t.Context())
		var ended *fleet.EndedError
		switch {
		case c.started && (err != nil || t0.IsZero()):
			t.Errorf("%+v: %v", c, err)
		case !c.started && (!errors.As(err, &ended) || ended.Source != "worker/1" || ended.Status != c.status):
			t.Errorf("%+v: %v", c, err)
		}
		if e := <-coordinator.Ended(); e.Source != "worker/1" || e.Status != c.status {
			t.Errorf("%+v: %s", c, e)
		}
		if !c.started { // nor does it start once the other one is ready
			ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
			if got := <-wait(ctx, worker[0], ""); !got.t0.IsZero() {
				t.Errorf("%+v: started at %s", c, got.t0)
			}
			cancel()
		}
	}
}

// A worker that runs another script than the coordinator's prevents the start.
func TestAnotherScript(t *testing.T) {
	c := coordinate(t, 1, anyMetrics)
	worker := c.join(t, 1)
	if archive, err := worker[0].Archive(t.Context()); string(archive) != "tar" || err != nil {
		t.Errorf("the script is %q, %v", archive, err)
	}
	err := worker[0].Ready(t.Context(), wire.Ready{Archive: "bb"})
	if err == nil || !strings.Contains(err.Error(), "worker/0 runs another script: its archive is sha256:bb, the run's sha256:aa") {
		t.Errorf("another script: %v", err)
	}
	if _, err := c.AwaitStart(t.Context()); err == nil {
		t.Error("the run starts")
	}
}

func TestStartIsCancelled(t *testing.T) {
	c := coordinate(t, 2, anyMetrics)
	waiting := wait(t.Context(), c.join(t, 2)[0], "")
	why := errors.New("deadline of the test")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(why)
	var err error
	polltest.Until(t, "one of two is ready", func() bool {
		_, err = c.AwaitStart(ctx)
		return strings.Contains(err.Error(), "1 of 2 workers")
	})
	if !errors.Is(err, why) || !strings.Contains(err.Error(), "not ready: worker/1 on host-1") {
		t.Errorf("cancelled with %v", err)
	}
	select {
	case got := <-waiting:
		t.Errorf("the worker started: %+v", got)
	default:
	}
}

// A worker that leaves before all have joined is replaced; one too many is refused, and
// so is another build, or an identity that has its share already.
func TestJoin(t *testing.T) {
	c := coordinate(t, 2, anyMetrics)
	l := wire.New(c.url, keys.Token(), nil)
	ctx, leave := context.WithCancel(t.Context())
	left := make(chan error, 1)
	go func() { _, _, err := l.Join(ctx, hello(9)); left <- err }()
	polltest.Until(t, "the worker has joined", func() bool { return c.Joined() == 1 })
	leave()
	if err := <-left; err == nil {
		t.Error("a share before all have joined")
	}
	polltest.Until(t, "the worker is forgotten", func() bool { return c.Joined() == 0 })
	old := hello(1)
	old.Tool.Revision = "fedcba9876543210"
	if _, _, err := l.Join(t.Context(), old); err == nil || !strings.Contains(err.Error(), "the worker is version v1.2.3 of commit fedcba987654, the coordinator version v1.2.3 of commit 0123456789ab") {
		t.Errorf("another build: %v", err)
	}
	if all := c.Rejected(); len(all) != 1 || !strings.HasPrefix(all[0], `a worker on "host-1" was not admitted: the worker is version v1.2.3`) || len(c.Rejected()) > 0 {
		t.Errorf("rejected %q", all)
	}
	worker := c.join(t, 2)
	if again, _, err := l.Join(t.Context(), hello(0)); err != nil || again.Credential != keys.Credential(0, "identity 0") {
		t.Errorf("an answer that was lost: %+v, %v", again, err)
	}
	if _, err := worker[0].Heartbeat(t.Context()); err != nil {
		t.Fatal(err)
	}
	for name, h := range map[string]wire.Hello{"one too many": hello(2), "an identity that was used": hello(0)} {
		var refused *wire.RefusedError
		if _, _, err := l.Join(t.Context(), h); !errors.As(err, &refused) || refused.Status != http.StatusConflict {
			t.Errorf("%s: %v", name, err)
		}
	}
	// A credential is of one worker that has joined.
	for name, credential := range map[string]string{"the run's token": keys.Token(), "unknown": keys.Credential(2, "x"), "another identity": keys.Credential(0, "x"), "forged": "0.identity 0.00"} {
		if _, err := l.As(wire.Assignment{Credential: credential}).Heartbeat(t.Context()); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

func TestMissingWorkers(t *testing.T) {
	c := coordinate(t, 2, anyMetrics)
	go func() { _, _, _ = wire.New(c.url, keys.Token(), nil).Join(t.Context(), hello(0)) }()
	polltest.Until(t, "one has joined", func() bool { return c.Joined() == 1 })
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("the limit is 1s"))
	if _, err := c.AwaitWorkers(ctx); err == nil || err.Error() != "1 of 2 workers have joined: the limit is 1s" {
		t.Errorf("%v", err)
	}
}

// Workers that join at one moment all get their shares, with no other worker's.
func TestWorkersJoinAtOnce(t *testing.T) {
	const workers = 100
	c := coordinate(t, workers, anyMetrics)
	watching, end := context.WithCancel(t.Context())
	defer end()
	go func() {
		for watching.Err() == nil {
			c.Joined()
		}
	}()
	numbers := make(chan int, workers)
	for i := range workers {
		go func() {
			l := wire.New(c.url, keys.Token(), nil)
			defer l.Close()
			a, waiting, err := l.Join(t.Context(), hello(i))
			if err != nil || a == nil {
				t.Errorf("%+v, %v", waiting, err)
				end()
				numbers <- -1
				return
			}
			numbers <- a.Number
		}()
	}
	if _, err := c.AwaitWorkers(watching); err != nil {
		t.Fatal(err)
	}
	shares := make([]wire.Assignment, workers)
	for i := range shares {
		shares[i].Number = i
	}
	c.Assign(shares, nil, c.logs)
	seen := map[int]bool{}
	for range workers {
		seen[<-numbers] = true
	}
	if len(seen) != workers {
		t.Errorf("%d workers have a number of their own", len(seen))
	}
}

// Exits come from the workers, from their processes on this machine, or from silence.
func TestExits(t *testing.T) {
	c := coordinate(t, 5, anyMetrics)
	worker := c.join(t, 5)
	const failed = `time="2026-11-20T23:54:40Z" level=error msg="Error: no stock\n\tat file:///srv/pay.js:1:34(3)\n" hint="script exception"` + "\n"
	for offset := 0; offset < len(failed); offset += 40 {
		part := []byte(failed[max(0, offset-5):min(offset+40, len(failed))])
		offset := max(0, offset-5) // a part was written before an error
		for range 2 {              // the answer to the first was lost
			if err := worker[1].Log(t.Context(), int64(offset), part); err != nil {
				t.Fatal(err)
			}
		}
	}
	if log, err := os.ReadFile(filepath.Join(c.logs, "worker-1.log")); string(log) != failed || err != nil {
		t.Errorf("log %q, %v", log, err)
	}
	var refused *wire.RefusedError
	if err := worker[1].Log(t.Context(), int64(len(failed)+1), []byte("x")); !errors.As(err, &refused) {
		t.Errorf("a part after a gap: %v", err)
	}
	if err := errors.Join(worker[0].Exit(t.Context(), wire.Exit{Status: "0"}), worker[1].Exit(t.Context(), wire.Exit{Status: "107"})); err != nil {
		t.Fatal(err)
	}
	if !c.WorkerEnded(fleet.Ended{PID: 1002, Status: "signal: killed"}) || !c.WorkerEnded(fleet.Ended{PID: 1000, Status: "2", Output: "late"}) || c.WorkerEnded(fleet.Ended{PID: 7, Status: "0"}) {
		t.Error("processes are mistaken")
	}
	select {
	case <-c.Done():
		t.Error("done before the last has ended")
	default:
	}
	if err := worker[4].Exit(t.Context(), wire.Exit{Error: "no space left on device"}); err != nil { // before it had started k6
		t.Fatal(err)
	}
	c.LoseAll("it did not end in time")
	want := []string{
		"worker/0 ended with status 0",
		"worker/1 ended with status 107: Error: no stock (pay.js:1:34)",
		"worker/2 ended: signal: killed",
		"worker/3 is lost: it did not end in time",
		"worker/4 ended: no space left on device",
	}
	reported := map[string]bool{}
	for i, e := range c.Exits() {
		if e.String() != want[i] {
			t.Errorf("%s, want %s", e, want[i])
		}
		reported[(<-c.Ended()).String()] = true
	}
	if len(reported) != len(want) {
		t.Errorf("reported %v", reported)
	}
}

func TestMalformedMessages(t *testing.T) {
	c := coordinate(t, 1, anyMetrics)
	c.join(t, 1)
	for path, bearer := range map[string]string{wire.PathJoin: keys.Token(), wire.PathReady: keys.Credential(0, "identity 0"), wire.PathStart: keys.Credential(0, "identity 0")} {
		for name, m := range map[string]struct {
			method, body string
			want         int
		}{
			"not JSON":     {http.MethodPost, "ready", http.StatusBadRequest},
			"cut off":      {http.MethodPost, `{"identity":"worker/0"`, http.StatusBadRequest},
			"wrong type":   {http.MethodPost, `[7]`, http.StatusBadRequest},
			"wrong method": {http.MethodGet, "", http.StatusMethodNotAllowed},
		} {
			req, err := http.NewRequestWithContext(t.Context(), m.method, c.url+path, strings.NewReader(m.body))
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Authorization", "Bearer "+bearer)
			resp, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			_ = resp.Body.Close()
			if resp.StatusCode != m.want {
				t.Errorf("%s, %s: answer %d, want %d", path, name, resp.StatusCode, m.want)
			}
		}
	}
}
