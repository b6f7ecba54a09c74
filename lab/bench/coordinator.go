package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/procfs"

	"assay.dev/assay/internal/load/fleet"
	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/observe/record"
	"assay.dev/assay/internal/plan"
	"assay.dev/assay/internal/run"
	"assay.dev/assay/internal/spec"
	"assay.dev/assay/internal/wire/identity"
	"assay.dev/assay/lab/bench/longrun"
	"assay.dev/assay/lab/bench/synthetic"
)

const coordinateArg = "coordinate"

// coordination is a run of a coordinator in a process of its own, as JSON.
type coordination struct {
	Dir    string // run folder
	Assay  string // binary that reads the script
	Files  string // folder of the script
	Target string
	Shape  longrun.Shape
	Seed   uint64
}

// profile is the profile of the run: its hold, and the shortest possible rest.
func (c coordination) profile() spec.Profile {
	p := c.Shape.Profile()
	p.Flows[0].Scenario = "script.js"
	p.Flows[0].Load = spec.Load{Unit: p.Flows[0].Load.Unit, Target: p.Flows[0].Load.Target, Warmup: 2 * time.Second, Hold: c.Shape.Hold}
	return p
}

// coordinate is a run whose workers join by themselves. It prints each step.
func coordinate() error {
	if len(os.Args) != 3 {
		return fmt.Errorf("%s takes a coordination", coordinateArg)
	}
	var c coordination
	if err := json.Unmarshal([]byte(os.Args[2]), &c); err != nil {
		return fmt.Errorf("read coordination: %w", err)
	}
	return run.Run(context.Background(), run.Options{
		ID: "bench", Dir: c.Dir, Join: run.Join{Remote: true}, Engine: fleet.Others{},
		Task: run.Task{
			File: spec.File{Path: filepath.Join(c.Files, "thresholds.json")}, Profile: c.profile(),
			Workers: c.Shape.Workers, Seed: c.Seed, Scope: spec.ScopeSmoke,
		},
		System: run.System{Target: c.Target}, Executable: c.Assay, Log: slog.Default(),
		Progress: func(e run.Event) {
			if e.Kind == run.Step {
				fmt.Println(e.Text)
			}
		},
	})
}

// coordinator is the process of a coordination.
type coordinator struct {
	started
	address identity.Address
	token   string
}

// startCoordinator starts a coordinator on its own core, which listens when it returns.
func (b *bench) startCoordinator(ctx context.Context, c coordination) (*coordinator, error) {
	text, err := json.Marshal(c)
	if err != nil {
		return nil, err
	}
	r := &coordinator{}
	return r, r.start(exec.CommandContext(ctx, "taskset", "-c", strconv.Itoa(generatorCPU), b.self, coordinateArg, string(text)), r.readJoinLine)
}

// readJoinLine reads the line that starts a worker; false: it is another one.
func (c *coordinator) readJoinLine(line string) bool {
	token, url, found := strings.Cut(line, " assay worker --join ")
	if !found {
		return false
	}
	address, err := identity.ParseAddress(url)
	c.address, c.token = address, strings.TrimPrefix(token, "ASSAY_JOIN_TOKEN=")
	return err == nil
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

const (
	fleetWarmup   = 3 * time.Second // warmup of the load, not measured
	fleetMeasured = 15 * time.Second
	// preparedMessages are those that a fleet makes beforehand: more than one core takes in
	// this time.
	preparedMessages = 60_000
)

// fleetRun is a run to measure.
type fleetRun struct {
	workers  int
	eager    bool // they send as fast as they are acknowledged
	measured time.Duration
}

// cost is what a fleet cost the coordinator.
type cost struct {
	start    time.Duration // from the first request to join until the common start is known
	seconds  float64       // measured
	counts   synthetic.Counts
	from, to usage     // usage of the coordinator
	memory   []float64 // resident, B, from memoryEvery on
	senders  float64   // share of the other core that the fleet had
	frames   float64   // size of the frames in the record, B per worker and second
	ledger   float64   // likewise of the acknowledged transactions
}

// share is the coordinator's share of its core, and waited the time for which its threads
// could not have it, also because of each other.
func (c cost) share() float64  { return (c.to.cpu - c.from.cpu) / c.seconds }
func (c cost) waited() float64 { return (c.to.waited - c.from.waited) / c.seconds }

// perMessage is the coordinator's CPU time for a worker and second, us.
func (c cost) perMessage() float64 { return 1e6 * c.share() * c.seconds / float64(c.counts.Messages) }
func (c cost) frameRate() float64  { return float64(c.counts.Frames) / c.seconds }

// delay is a quantile of the time until a message was acknowledged, ms.
func (c cost) delay(q float64) float64 {
	v, _ := c.counts.Delays.Quantile(q)
	return v
}

// fleetCost makes one run with a synthetic fleet, and checks that its record is complete.
func (b *bench) fleetCost(ctx context.Context, f fleetRun) (c cost, err error) {
	dir, err := os.MkdirTemp(b.dir, "capacity-")
	if err != nil {
		return c, err
	}
	defer os.RemoveAll(dir)
	of := coordination{Dir: filepath.Join(dir, "run"), Assay: b.assay, Files: b.dir, Target: b.target.url, Seed: 1, Shape: fleetOf(f.workers, fleetWarmup+f.measured)}
	r, err := b.startCoordinator(ctx, of)
	if err != nil {
		return c, err
	}
	defer func() { err = errors.Join(err, r.end(err != nil)) }()
	o := synthetic.Options{Address: r.address, Token: r.token, Shape: of.Shape, Eager: f.eager, Prepared: preparedMessages / f.workers}
	if o.Load, err = plan.New(of.profile(), f.workers, of.Seed); err != nil {
		return c, err
	}
	begin := time.Now()
	joined, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() { // ends with the coordinator
		<-r.child.Done()
		cancel(errors.New("the coordinator has ended"))
	}()
	fleet := synthetic.Start(joined, o)
	defer func() {
		fleet.Stop()
		err = errors.Join(err, fleet.Wait())
	}()
	t0, err := fleet.AwaitStart(ctx)
	if err != nil {
		return c, err
	}
	c.start = time.Since(begin)
	before, err := c.measure(ctx, f.measured, t0, fleet, r)
	if err != nil {
		return c, err
	}
	if f.eager {
		fleet.Stop()
	}
	if err := errors.Join(fleet.Wait(), r.end(false)); err != nil {
		return c, err
	}
	return c, c.readRecord(of, before.Frames+c.counts.Frames+fleet.Take().Frames)
}

// memoryEvery is the time between two readings of the memory.
const memoryEvery = 5 * time.Second

// measure measures a fleet that starts at t0. It returns what the fleet had sent before.
func (c *cost) measure(ctx context.Context, d time.Duration, t0 time.Time, fleet *synthetic.Fleet, r *coordinator) (before synthetic.Counts, err error) {
	if err := synthetic.Sleep(ctx, time.Until(t0.Add(fleetWarmup))); err != nil {
		return before, err
	}
	before = fleet.Take()
	own, err := usageOf(os.Getpid())
	if err != nil {
		return before, err
	}
	if c.from, err = usageOf(r.child.PID); err != nil {
		return before, err
	}
	for ; d > 0; d -= memoryEvery {
		if err := synthetic.Sleep(ctx, min(d, memoryEvery)); err != nil {
			return before, err
		}
		if c.to, err = usageOf(r.child.PID); err != nil {
			return before, err
		}
		c.memory = append(c.memory, c.to.memory)
	}
	c.counts = fleet.Take()
	c.seconds = c.to.at.Sub(c.from.at).Seconds()
	now, err := usageOf(os.Getpid())
	c.senders = (now.cpu - own.cpu) / c.seconds
	return before, err
}

// readRecord measures the size of the record, which must hold every frame.
func (c *cost) readRecord(of coordination, frames int64) error {
	recorded, messages := int64(0), map[string]map[int64]bool{}
	err := record.EachFrame(of.Dir, func(f metric.Frame) error {
		if !metric.IsWorker(f.Source) {
			return nil
		}
		recorded++
		if messages[f.Source] == nil {
			messages[f.Source] = map[int64]bool{}
		}
		messages[f.Source][f.Second] = true
		return nil
	})
	if err != nil {
		return err
	}
	if recorded != frames {
		return fmt.Errorf("the record holds %d frames, and %d were acknowledged", recorded, frames)
	}
	seconds := 0
	for _, of := range messages {
		seconds += len(of)
	}
	size := func(pattern string) (n float64) {
		files, _ := filepath.Glob(filepath.Join(of.Dir, record.EvidenceDir, pattern)) // fails for a wrong pattern only
		for _, f := range files {
			if info, err := os.Stat(f); err == nil {
				n += float64(info.Size())
			}
		}
		return n / float64(seconds)
	}
	c.frames, c.ledger = size("frames*"), size("ledger/acknowledged*")
	return nil
}
