//go:build long

package run_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"assay.dev/assay/internal/load/fleet"
	"assay.dev/assay/internal/observe/record"
	"assay.dev/assay/internal/run"
	"assay.dev/assay/internal/servers/process"
	"assay.dev/assay/internal/spec"
	"assay.dev/assay/internal/testing/artifact"
	"assay.dev/assay/internal/testing/networktest"
	"assay.dev/assay/internal/testing/polltest"
)

// coordinatorCommand makes the test binary the coordinator of a run, on another host.
const coordinatorCommand = "coordinator"

// coordinatorOptions are the options of a run in a process of its own.
type coordinatorOptions struct {
	ID, Dir, Thresholds, Target string
	Profile                     spec.Profile
	Workers                     int
	Seed                        uint64
	AllowHosts                  []string
	Join                        joinOptions
	Outputs                     []string
	StartTimeout                time.Duration
	Resume                      bool
}

// joinOptions is run.Join, which as JSON has no token.
type joinOptions struct {
	Remote            bool
	Listen, Advertise string
	Token             string
	Timeout           time.Duration
	Certificate, Key  string
	ByCPUs            bool
}

func init() { childCommands[coordinatorCommand] = runCoordinator }

// runCoordinator makes the run whose options are in the file of the second argument. Its
// progress goes to stdout.
func runCoordinator() error {
	data, err := os.ReadFile(os.Args[2])
	if err != nil {
		return err
	}
	var c coordinatorOptions
	if err := json.Unmarshal(data, &c); err != nil {
		return err
	}
	executable, err := os.Executable()
	if err != nil {
		return err
	}
	ctx, cancel := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer cancel()
	var mu sync.Mutex
	return run.Run(ctx, run.Options{
		ID: c.ID, Dir: c.Dir, Join: run.Join(c.Join), Resume: c.Resume, StartTimeout: c.StartTimeout,
		Task:   run.Task{File: spec.File{Path: c.Thresholds}, Profile: c.Profile, Workers: c.Workers, Seed: c.Seed, Outputs: c.Outputs, Scope: "smoke"},
		System: run.System{Target: c.Target, AllowHosts: c.AllowHosts}, Executable: executable, Engine: fleet.Others{},
		Log: slog.New(slog.NewTextHandler(os.Stderr, nil)),
		Progress: func(e run.Event) {
			mu.Lock()
			defer mu.Unlock()
			switch e.Kind {
			case run.Step, run.Note:
				fmt.Println(e.Text)
			case run.Enter:
				fmt.Println("enter", e.Stage.Name)
			case run.Tick:
				fmt.Println("tick", e.Stage.Name, e.Offset)
			}
		},
	})
}

// site is a network with a coordinator, a target and workers, each on a host of its own.
type site struct {
	t           *testing.T
	network     *networktest.Network
	coordinator *networktest.Host
	target      *networktest.Host
	url         string // URL of the target
	temporary   string // folder of all workers' temporary files
	disk        string // small, of one worker
}

func newSite(t *testing.T, target http.Handler) *site {
	t.Helper()
	n := networktest.New(t)
	s := &site{t: t, network: n, coordinator: n.Host("coordinator"), target: n.Host("target"), temporary: t.TempDir()}
	s.url = s.target.Serve(target).URL
	return s
}

// coordinated is a run whose coordinator is a process on the coordinator's host.
type coordinated struct {
	site    *site
	options coordinatorOptions
	process *process.Child
	url     string           // URL that workers join
	started []*process.Child // workers

	mu    sync.Mutex
	lines []string
	read  chan struct{} // closed when all output of the process was read
}

// certify starts a run of a number of workers, which have to join.
func (s *site) certify(p spec.Profile, workers int, change func(*coordinatorOptions)) *coordinated {
	s.t.Helper()
	dir := s.t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "script.js"), []byte(ackScript), 0o644); err != nil {
		s.t.Fatal(err)
	}
	artifact.Keep(s.t, filepath.Join(dir, "run"))
	c := &coordinated{site: s, options: coordinatorOptions{
		ID: fmt.Sprintf("test-%d-%d", os.Getpid(), runs.Add(1)), Dir: filepath.Join(dir, "run"), Thresholds: filepath.Join(dir, "thresholds.json"),
		Target: s.url, Profile: p, Workers: workers, Seed: 1, AllowHosts: []string{s.target.Addr().String()},
		Join: joinOptions{Remote: true, Token: joinToken, Listen: s.coordinator.Addr().String() + ":7077", Timeout: time.Minute},
	}}
	if change != nil {
		change(&c.options)
	}
	c.start(" assay worker --join ")
	_, c.url, _ = strings.Cut(c.line(" assay worker --join "), "--join ")
	return c
}

// kill kills the coordinator.
func (c *coordinated) kill() {
	if err := c.process.Kill(); err != nil {
		c.site.t.Error(err)
	}
}

// start starts the coordinator, and waits for a line with this text.
func (c *coordinated) start(says string) {
	t := c.site.t
	t.Helper()
	data, err := json.Marshal(c.options)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(filepath.Dir(c.options.Dir), "options.json")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd := c.site.coordinator.Command(t.Context(), executable(t), coordinatorCommand, path)
	cmd.Stdout, cmd.Stderr = write, write
	if c.process, err = process.Start(cmd, process.Tied); err != nil {
		t.Fatal(err)
	}
	_ = write.Close()
	done := make(chan struct{})
	c.read = done
	go func() {
		defer close(done)
		defer read.Close()
		for lines := bufio.NewScanner(read); lines.Scan(); {
			c.mu.Lock()
			c.lines = append(c.lines, lines.Text())
			c.mu.Unlock()
		}
	}()
	t.Cleanup(func() {
		_ = c.process.Kill()
		if t.Failed() {
			t.Logf("coordinator:\n%s", c.output())
		}
	})
	c.await(says)
}

func (c *coordinated) output() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return strings.Join(c.lines, "\n")
}

// line is the last line with this text; empty: there is none.
func (c *coordinated) line(text string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := len(c.lines) - 1; i >= 0; i-- {
		if strings.Contains(c.lines[i], text) {
			return c.lines[i]
		}
	}
	return ""
}

// await waits for a line with this text.
func (c *coordinated) await(text string) {
	c.site.t.Helper()
	polltest.Until(c.site.t, fmt.Sprintf("the coordinator says %q", text), func() bool {
		select {
		case <-c.process.Done():
			if c.line(text) == "" {
				c.site.t.Fatalf("the coordinator has ended: %v\n%s", c.process.Err(), c.output())
			}
		default:
		}
		return c.line(text) != ""
	})
}

// end waits for the end of the coordinator.
func (c *coordinated) end() error {
	err := c.process.Err()
	<-c.read
	return err
}

// wait waits for the end of the run and opens its record.
func (c *coordinated) wait() record.Run {
	c.site.t.Helper()
	if err := c.end(); err != nil {
		c.site.t.Fatalf("the coordinator failed: %v\n%s", err, c.output())
	}
	r, err := record.Open(c.options.Dir)
	if err != nil {
		c.site.t.Fatal(err)
	}
	return r
}

// worker starts a worker on a host, which joins the run.
func (c *coordinated) worker(h *networktest.Host, env ...string) *process.Child {
	return c.workerIn(h, c.site.temporary, env...)
}

// workerIn is worker with temporary files in a folder.
func (c *coordinated) workerIn(h *networktest.Host, dir string, env ...string) *process.Child {
	t := c.site.t
	t.Helper()
	cmd := h.Command(t.Context(), executable(t), "worker", "--join", c.url, "--dir", dir)
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME"), "ASSAY_JOIN_TOKEN=" + joinToken}, env...)
	child := startLogged(t, cmd)
	c.started = append(c.started, child)
	return child
}

// awaitWorkers waits until every worker has printed this text.
func (c *coordinated) awaitWorkers(text string) {
	c.site.t.Helper()
	for _, child := range c.started {
		polltest.Until(c.site.t, fmt.Sprintf("worker %d says %q", child.PID, text), func() bool {
			return strings.Contains(logOf(child.PID), text)
		})
	}
}

// workers starts a worker on each of a number of new hosts.
func (c *coordinated) workers(n int) (hosts []*networktest.Host, children []*process.Child) {
	c.site.t.Helper()
	for i := range n {
		h := c.site.network.Host(fmt.Sprintf("worker%d", i))
		hosts, children = append(hosts, h), append(children, c.worker(h))
	}
	return hosts, children
}
