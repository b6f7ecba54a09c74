package main

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/pprof"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/procfs"

	"assay.dev/assay/internal/load/fleet"
	"assay.dev/assay/internal/run"
	"assay.dev/assay/internal/servers/process"
	"assay.dev/assay/internal/spec"
	"assay.dev/assay/internal/wire/identity"
	"assay.dev/assay/lab/bench/longrun"
)

const coordinateArg = "coordinate"

// coordination is a run of a coordinator in a process of its own, as JSON.
type coordination struct {
	Dir     string // run folder
	Assay   string // binary that reads the script
	Files   string // folder of the script
	Target  string
	Shape   longrun.Shape
	Seed    uint64
	Profile string // file for a CPU profile of the load; empty: none
}

// profile is the profile of the run: its hold, and the shortest possible rest.
func (c coordination) profile() spec.Profile {
	p := c.Shape.Profile()
	p.Flows[0].Scenario = "script.js"
	p.Flows[0].Load = spec.Load{Unit: p.Flows[0].Load.Unit, Target: p.Flows[0].Load.Target, Warmup: 2 * time.Second, Hold: c.Shape.Hold}
	return p
}

// coordinate is a run whose workers join by themselves. It prints each step.
func coordinate() (err error) {
	if len(os.Args) != 3 {
		return fmt.Errorf("%s takes a coordination", coordinateArg)
	}
	var c coordination
	if err := json.Unmarshal([]byte(os.Args[2]), &c); err != nil {
		return fmt.Errorf("read coordination: %w", err)
	}
	if c.Profile != "" {
		f, err := os.Create(c.Profile)
		if err != nil {
			return err
		}
		if err := pprof.StartCPUProfile(f); err != nil {
			return errors.Join(err, f.Close())
		}
		defer func() {
			pprof.StopCPUProfile()
			err = cmp.Or(err, f.Close())
		}()
	}
	return run.Run(context.Background(), run.Options{
		ID: "bench", Dir: c.Dir, File: spec.File{Path: filepath.Join(c.Files, "thresholds.json")}, Profile: c.profile(),
		Workers: c.Shape.Workers, Join: run.Join{Remote: true}, Engine: fleet.Others{}, Seed: c.Seed, Target: c.Target, Scope: spec.ScopeSmoke,
		Executable: c.Assay, Log: slog.Default(),
		Progress: func(e run.Event) {
			if e.Kind == run.Step {
				fmt.Println(e.Text)
			}
		},
	})
}

// coordinator is the process of a coordination.
type coordinator struct {
	child   *process.Child
	address identity.Address
	token   string
}

// startCoordinator starts a coordinator on its own core, which listens when it returns.
func startCoordinator(ctx context.Context, c coordination) (*coordinator, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(c)
	if err != nil {
		return nil, err
	}
	from, to, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, "taskset", "-c", strconv.Itoa(coordinatorCPU), self, coordinateArg, string(text))
	cmd.Stdout, cmd.Stderr = to, os.Stderr
	child, err := process.Start(cmd, process.Tied)
	_ = to.Close() // the child has its own copy
	if err != nil {
		return nil, errors.Join(err, from.Close())
	}
	r := &coordinator{child: child}
	lines := bufio.NewScanner(from)
	for r.token == "" && lines.Scan() {
		r.readJoinLine(lines.Text())
	}
	if r.token == "" {
		return nil, errors.Join(errors.New("the coordinator does not listen"), from.Close(), child.Err())
	}
	go func() { // ends with the process
		defer from.Close()
		_, _ = io.Copy(io.Discard, from)
	}()
	return r, nil
}

// readJoinLine reads the line that starts a worker; it ignores others.
func (c *coordinator) readJoinLine(line string) {
	token, url, found := strings.Cut(line, " assay worker --join ")
	if !found {
		return
	}
	if address, err := identity.ParseAddress(url); err == nil {
		c.address, c.token = address, strings.TrimPrefix(token, "ASSAY_JOIN_TOKEN=")
	}
}

// usage is what a process has used so far.
type usage struct {
	at     time.Time
	cpu    float64 // s
	waited float64 // s, for a CPU, of all threads
	memory float64 // resident, B
	files  int     // descriptors
}

func usageOf(pid int) (usage, error) {
	p, err := procfs.NewProc(pid)
	if err != nil {
		return usage{}, err
	}
	stat, err := p.Stat()
	if err != nil {
		return usage{}, err
	}
	threads, err := procfs.AllThreads(pid)
	if err != nil {
		return usage{}, err
	}
	u := usage{at: time.Now(), cpu: stat.CPUTime(), memory: float64(stat.ResidentMemory())}
	for _, t := range threads {
		if s, err := t.Schedstat(); err == nil { // else the thread has ended
			u.waited += time.Duration(s.WaitingNanoseconds).Seconds()
		}
	}
	u.files, err = p.FileDescriptorsLen()
	return u, err
}

// end returns when the run is sealed, or kills the process.
func (c *coordinator) end(kill bool) error {
	if kill {
		return c.child.Kill()
	}
	if err := c.child.Err(); err != nil {
		return fmt.Errorf("coordinator: %w", err)
	}
	return nil
}
