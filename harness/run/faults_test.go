package run_test

import (
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"assay/harness/judge/verdict"
	"assay/harness/observe/record"
	"assay/harness/polltest"
	"assay/harness/servers/networktest"
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
	strike func(c *coordinated, hosts []*networktest.Host) // in the hold; nil: nothing happens
	hold   time.Duration

	verdict verdict.Outcome
	rule    string // that makes the run INVALID
	detail  string // of the rule
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
func TestFaultsOfFleets(t *testing.T) {
	for name, f := range map[string]fault{
		"none": {hold: 6 * time.Second, verdict: verdict.Pass, whole: true},
		"a worker is killed": {
			hold: 12 * time.Second, verdict: verdict.Invalid, rule: "frames", detail: "worker/1 was killed (signal: killed)",
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
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			expect(t, f.verdict, func(t *testing.T) verdict.Verdict { return f.run(t) })
		})
	}
}

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
	c := s.certify(loose(steady(60, f.hold)), 3, func(o *coordinatorOptions) { o.Target = "http://" + localTarget })
	if f.join != nil {
		f.join(c, hosts)
	} else {
		for _, h := range hosts {
			c.worker(h)
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
	polltest.Until(t, "the workers have removed their files", func() bool {
		left, err := filepath.Glob(filepath.Join(s.temporary, "*"))
		return err == nil && len(left) == 0
	})
	t.Logf("%s: %s", v.Outcome, v.Claim)
	return v
}
