//go:build long

package run_test

import (
	"bytes"
	"cmp"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"assay.dev/assay/internal/judge/verdict"
	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/observe/record"
	"assay.dev/assay/internal/testing/networktest"
	"assay.dev/assay/internal/testing/polltest"
	"assay.dev/assay/internal/testing/workertest"
	"assay.dev/assay/internal/wire"
)

// answering is a target that answers at once.
var answering = http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})

// checkNothingLost fails the test unless every scheduled transaction of the whole plan
// has one outcome, and was acknowledged once.
func checkNothingLost(t *testing.T, c *coordinated, r record.Run) {
	t.Helper()
	scheduled, outcomes := checkAccounted(t, r)
	if scheduled != r.Plan.Load.Arrivals() {
		t.Errorf("%d of %d transactions were scheduled", scheduled, r.Plan.Load.Arrivals())
	}
	acks := acknowledgedIn(t, c.options.Dir)
	if len(acks) != int(outcomes["completed"]) {
		t.Errorf("%d identities were acknowledged, %d transactions were completed", len(acks), outcomes["completed"])
	}
	for id, n := range acks {
		if n != 1 {
			t.Errorf("%s was acknowledged %d times", id, n)
		}
	}
}

// fault is a fleet of three with a fault, which happens under load unless join says
// otherwise.
type fault struct {
	join   func(c *coordinated, hosts []*networktest.Host) // starts the workers; nil: each on its host, at once
	env    []string                                        // environment of the second worker
	all    []string                                        // environment of all workers
	strike func(c *coordinated, hosts []*networktest.Host) // in the hold; nil: nothing happens
	hold   time.Duration
	disk   bool // the second worker has its temporary files on a small disk

	verdict verdict.Outcome
	rule    string // id of the rule that makes the run INVALID
	detail  string // part of the rule's detail
	says    string // text that the second worker prints
	limits  string // limitation
	whole   bool   // nothing is lost
}

// k6Of waits for the k6 process of a worker on any host.
func k6Of(t *testing.T, c *coordinated, i int) int {
	t.Helper()
	return worker(t, c.options.ID, i)
}

func sigstop(t *testing.T, pid int, length time.Duration) {
	t.Helper()
	if err := suspend(pid, length); err != nil {
		t.Error(err)
	}
}

// Every fault of a fleet leaves the run unharmed, or makes it INVALID by the name of
// what happened.
func TestLongFaultsOfFleets(t *testing.T) {
	t.Parallel()
	cpus(t, 0.3)
	here, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	faults := map[string]fault{
		"none": {hold: 6 * time.Second, verdict: verdict.Pass, whole: true},
		"a worker is killed": {
			hold: 12 * time.Second, verdict: verdict.Invalid, rule: "worker-lost", detail: "worker/1 on " + here + " was killed ",
			strike: func(c *coordinated, _ []*networktest.Host) {
				_ = syscall.Kill(k6Of(c.site.t, c, 1), syscall.SIGKILL)
			},
		},
		"a worker stops for 5 s": {
			hold: 14 * time.Second, verdict: verdict.Invalid, rule: "offered", detail: "the generator itself started ", whole: true,
			strike: func(c *coordinated, _ []*networktest.Host) { sigstop(c.site.t, k6Of(c.site.t, c, 1), 5*time.Second) },
		},
		"a worker joins 3 s late": {
			hold: 6 * time.Second, verdict: verdict.Pass, whole: true,
			join: func(c *coordinated, hosts []*networktest.Host) {
				c.worker(hosts[0])
				c.worker(hosts[1])
				time.Sleep(3 * time.Second)
				c.worker(hosts[2])
			},
		},
		"a worker is cut off for 10 s": {
			hold: 20 * time.Second, verdict: verdict.Pass, limits: "reached the record up to", whole: true,
			strike: func(_ *coordinated, hosts []*networktest.Host) {
				hosts[1].Cut()
				time.Sleep(10 * time.Second)
				hosts[1].Restore()
			},
		},
		"packets are lost and late": {
			hold: 10 * time.Second, verdict: verdict.Pass, whole: true,
			strike: func(_ *coordinated, hosts []*networktest.Host) {
				hosts[2].SetLink(networktest.Link{Delay: 50 * time.Millisecond, Loss: 0.05})
			},
		},
		"a worker is cut off for 10 s, with a full disk": {
			hold: 20 * time.Second, verdict: verdict.Pass, limits: "reached the record up to", whole: true, disk: true,
			env: []string{workertest.EnvInMemory + "=16384"}, says: "cannot be written to disk, and wait in memory: ",
			strike: func(c *coordinated, hosts []*networktest.Host) {
				fill(c.site.t, c.site.disk)
				hosts[1].Cut()
				time.Sleep(10 * time.Second)
				hosts[1].Restore()
			},
		},
		"a worker is cut off for good": {
			hold: 50 * time.Second, verdict: verdict.Invalid, rule: "worker-lost", detail: " on " + here + " was lost ",
			strike: func(_ *coordinated, hosts []*networktest.Host) { hosts[1].Cut() },
		},
		"a clock is 500 ms ahead": {
			hold: 6 * time.Second, verdict: verdict.Pass, whole: true, env: []string{workertest.EnvClock + "=500ms 0ms"},
		},
		"a clock is a minute behind": {
			hold: 6 * time.Second, verdict: verdict.Pass, whole: true, env: []string{workertest.EnvClock + "=-1m 0ms"},
		},
		"a clock drifts": { // by more than a tenth of 1000 ms
			hold: 10 * time.Second, verdict: verdict.Invalid, rule: "clock", detail: " ms against the coordinator's during the run", whole: true, env: []string{workertest.EnvClock + "=0s 25ms"},
		},
		"strangers send": {
			hold: 8 * time.Second, verdict: verdict.Pass, whole: true,
			strike: func(c *coordinated, _ []*networktest.Host) { sendAsStrangers(c) },
		},
		"the coordinator is killed and continues": {
			hold: 20 * time.Second, verdict: verdict.Pass, limits: "the coordinator was killed under load", whole: true,
			strike: func(c *coordinated, _ []*networktest.Host) {
				c.kill()
				time.Sleep(4 * time.Second)
				c.options.Resume = true
				c.start("continuing")
			},
		},
		"the coordinator is killed and continues after the workers ended their load": {
			// Longer than they can take to say so.
			hold: 60 * time.Second, verdict: verdict.Invalid, rule: "complete", detail: " judged seconds: worker/", all: []string{workertest.EnvLostAfter + "=10s"},
			strike: func(c *coordinated, _ []*networktest.Host) {
				c.kill()
				c.awaitWorkers("stopping: the coordinator has not answered for ")
				c.options.Resume = true
				c.start("continuing")
			},
		},
		"the coordinator is killed and continues too late": {
			hold: 30 * time.Second, verdict: verdict.Invalid, rule: "worker-lost", detail: " was lost", all: []string{workertest.EnvLostAfter + "=4s"},
			strike: func(c *coordinated, _ []*networktest.Host) {
				c.kill()
				c.awaitWorkers("reports were not delivered: the coordinator has not answered for ")
				c.options.Resume = true
				c.start("continuing")
			},
		},
	}
	// Fleets mostly wait: several at a time, the longest first.
	names := slices.SortedFunc(maps.Keys(faults), func(a, b string) int {
		return cmp.Or(cmp.Compare(faults[b].hold, faults[a].hold), cmp.Compare(a, b))
	})
	slots := make(chan struct{}, fleetsAtATime)
	var all sync.WaitGroup
	for _, name := range names {
		slots <- struct{}{}
		all.Go(func() {
			defer func() { <-slots }()
			f := faults[name]
			t.Run(name, func(t *testing.T) {
				expect(t, f.verdict, func(t *testing.T) verdict.Verdict { return f.run(t) })
			})
		})
	}
	all.Wait()
}

// fleetsAtATime is how many fleets of three workers a machine of two CPUs carries at
// 60 transactions a second each.
const fleetsAtATime = 4

// localTarget is the address of a target on each host of a network: workers reach it also
// while they cannot reach their coordinator.
const localTarget = "127.0.0.1:28080"

func serveLocally(t *testing.T, h *networktest.Host) {
	t.Helper()
	l, err := h.Listen("tcp", localTarget)
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: answering}
	go func() { _ = server.Serve(l) }()
	t.Cleanup(func() { _ = server.Close() })
}

// run makes the run.
func (f fault) run(t *testing.T) verdict.Verdict {
	s := newSite(t, answering)
	serveLocally(t, s.coordinator)
	var hosts []*networktest.Host
	for i := range 3 {
		h := s.network.RemoteHost(fmt.Sprintf("worker%d", i), networktest.Link{})
		serveLocally(t, h)
		hosts = append(hosts, h)
	}
	p := loose(steady(60, f.hold))
	p.Rules = displaced(0.1)
	c := s.certify(p, 3, func(o *coordinatorOptions) { o.Target = "http://" + localTarget })
	if f.join != nil {
		f.join(c, hosts)
	} else {
		for i, h := range hosts {
			dir, env := s.temporary, f.all
			if i == 1 {
				env = slices.Concat(f.all, f.env)
			}
			if i == 1 && f.disk {
				s.disk = smallDisk(t)
				dir = s.disk
			}
			c.workerIn(h, dir, env...)
		}
	}
	if f.strike != nil {
		c.await("tick hold 3")
		f.strike(c, hosts)
	}
	r := c.wait()
	v := verdict.Judge(r)
	if f.whole {
		checkNothingLost(t, c, r)
	}
	found := brokenRules(v)
	if f.rule != "" && !strings.Contains(found[f.rule], f.detail) {
		t.Errorf("rule %s: %q, want %q; broken: %v", f.rule, found[f.rule], f.detail, found)
	}
	if !strings.Contains(strings.Join(v.Limitations, "\n"), f.limits) {
		t.Errorf("limitations: %q", v.Limitations)
	}
	if text := logOf(c.started[1].PID); !strings.Contains(text, f.says) {
		t.Errorf("the second worker does not say %q:\n%s", f.says, text)
	}
	polltest.Until(t, "the workers have removed their files", func() bool {
		left, err := filepath.Glob(filepath.Join(s.temporary, "*"))
		return err == nil && len(left) == 0
	})
	t.Logf("%s: %s", v.Outcome, v.Claim)
	return v
}

// sendAsStrangers sends what a coordinator must refuse, and a worker's own frames again.
func sendAsStrangers(c *coordinated) {
	t := c.site.t
	state := struct {
		Members []wire.Hello `json:"members"`
	}{}
	data, err := os.ReadFile(filepath.Join(c.options.Dir, "coordinator.json"))
	if err == nil {
		err = json.Unmarshal(data, &state)
	}
	if err != nil || strings.Contains(string(data), joinToken) {
		t.Errorf("coordinator.json: %v: %s", err, data)
		return
	}
	number := 0 // number of the worker that joined first
	own := wire.NewKeys(c.options.ID, joinToken).Credential(number, state.Members[number].Identity)
	old := wire.NewKeys("a run of before", joinToken).Credential(number, state.Members[number].Identity)
	frame := func(source string) []byte {
		body, err := metric.Encode(metric.Frame{Source: source, Sequence: 1, Second: 1, Points: []metric.Point{metric.CounterPoint(metric.Of(metric.TransactionsScheduled, "scenario", "steady"), 1000)}})
		if err != nil {
			t.Error(err)
		}
		return body
	}
	client := c.site.target.Client()
	client.Transport.(*http.Transport).TLSClientConfig = &tls.Config{InsecureSkipVerify: true}
	at, _, _ := strings.Cut(c.url, "#")
	for name, m := range map[string]struct {
		bearer string
		body   []byte
		status int
	}{
		"a frame again":           {own, frame("worker/0"), 200}, // and ignored
		"another worker's frame":  {own, frame("worker/1"), 403},
		"a frame with the token":  {joinToken, frame("worker/0"), 403},
		"a collector's frame":     {joinToken, frame("database"), 403},
		"garbage":                 {own, []byte("what is this?"), 400},
		"a wrong token":           {"token-of-a-test-0123456788", frame("worker/0"), 401},
		"a worker of another run": {old, frame("worker/0"), 401},
		"nobody":                  {"", frame("worker/0"), 401},
	} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, at+wire.PathMetrics, bytes.NewReader(m.body))
		if err != nil {
			t.Error(err)
			return
		}
		req.Header.Set("Authorization", "Bearer "+m.bearer)
		req.Header.Set("Content-Type", "application/x-protobuf")
		resp, err := client.Do(req)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		_ = resp.Body.Close()
		if resp.StatusCode != m.status {
			t.Errorf("%s: %s, want %d", name, resp.Status, m.status)
		}
	}
}

// A worker that may not join ends with the reason, and the run goes on without it.
func TestLongWorkersThatMayNotJoin(t *testing.T) {
	t.Parallel()
	cpus(t, 0.3)
	s := newSite(t, answering)
	c := s.certify(loose(steady(60, 3*time.Second)), 2, nil)
	hosts, _ := c.workers(1)
	for name, w := range map[string]struct{ env, says string }{
		"a wrong token": {"ASSAY_JOIN_TOKEN=token-of-a-test-0123456788", "the run's token is missing or wrong"},
		"an old build":  {workertest.EnvVersion + "=v0.0.1", "the worker is version v0.0.1, the coordinator version : use the same build"},
	} {
		child := c.worker(hosts[0], w.env)
		var exit *exec.ExitError
		if err := child.Err(); !errors.As(err, &exit) || exit.ExitCode() != 2 {
			t.Errorf("%s: ended with %v", name, err)
		}
		if text := logOf(child.PID); !strings.Contains(text, w.says) || strings.Contains(text, joinToken) {
			t.Errorf("%s: %s", name, text)
		}
	}
	c.await("was not admitted: the worker is version v0.0.1")
	c.worker(hosts[0])
	if v := verdict.Judge(c.wait()); v.Outcome != verdict.Pass && !onlySlow(v, verdict.Pass) {
		t.Errorf("%s: %s", v.Outcome, v.Claim)
	}
}

// A run whose workers do not join ends with an error that says how many have, and leaves
// nothing.
func TestLongWorkersThatNeverJoin(t *testing.T) {
	t.Parallel()
	cpus(t, 0.3)
	s := newSite(t, answering)
	c := s.certify(loose(steady(60, 3*time.Second)), 3, func(o *coordinatorOptions) { o.Join.Timeout = 3 * time.Second })
	_, children := c.workers(2)
	var exit *exec.ExitError
	if err := c.end(); !errors.As(err, &exit) || c.line("2 of 3 workers have joined: the limit is 3s") == "" {
		t.Errorf("%v: %s", err, c.output())
	}
	if _, err := os.Stat(c.options.Dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the run folder is left: %v", err)
	}
	for _, child := range children {
		if err := child.Err(); !errors.As(err, &exit) || exit.ExitCode() != 2 {
			t.Errorf("a worker that waited ended with %v", err)
		}
	}
}

// A worker whose machine cannot carry its share is refused before the load, with the
// number that would do.
func TestLongWorkerThatIsTooSmall(t *testing.T) {
	t.Parallel()
	cpus(t, 0.3)
	s := newSite(t, answering)
	p := loose(steady(60_000, 3*time.Second))
	p.Flows[0].SLOs[0].Bound, p.Flows[0].SLOs[0].Expression = 1, "p(50)<1"
	p.Flows[0].Timeout = 100 * time.Millisecond
	c := s.certify(p, 2, nil)
	h := s.network.Host("small")
	c.worker(h, workertest.EnvCPUs+"=1")
	c.worker(h, workertest.EnvCPUs+"=64")
	var exit *exec.ExitError
	if err := c.end(); !errors.As(err, &exit) || c.line("its share, 30000/s, needs at least 2.54 CPUs, and it has 1") == "" {
		t.Errorf("%v: %s", err, c.output())
	}
	if _, err := os.Stat(c.options.Dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the run folder is left: %v", err)
	}
}

// smallDisk mounts a disk of 1 MiB.
func smallDisk(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", "size=1m", "none", dir).CombinedOutput(); err != nil {
		t.Fatalf("mount a small disk (it takes root): %v: %s", err, out)
	}
	t.Cleanup(func() {
		if out, err := exec.Command("umount", "--lazy", dir).CombinedOutput(); err != nil {
			t.Errorf("unmount: %v: %s", err, out)
		}
	})
	return dir
}

// fill fills a disk.
func fill(t *testing.T, dir string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, "full"), make([]byte, 2<<20), 0o600); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("the disk is not full: %v", err)
	}
}
