package run

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"assay.dev/assay/internal/crash"
	"assay.dev/assay/internal/doctor"
	"assay.dev/assay/internal/hint"
	"assay.dev/assay/internal/load/arrivals"
	"assay.dev/assay/internal/load/fleet"
	"assay.dev/assay/internal/load/fleet/local"
	"assay.dev/assay/internal/observe/collect/databases"
	"assay.dev/assay/internal/observe/collect/host"
	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/observe/record"
	"assay.dev/assay/internal/plan"
	"assay.dev/assay/internal/wire"
)

// tool is this program's build, which every worker must have.
func (o Options) tool() wire.Tool {
	return wire.Tool{Version: o.Tool.Version, Revision: o.Tool.Revision, Dirty: o.Tool.Dirty}
}

// gather listens for workers, starts them, and waits until all have joined.
func (r *run) gather(ctx context.Context) error {
	keys, err := r.keys()
	if err != nil {
		return err
	}
	r.receive(keys)
	r.coordinator = fleet.NewCoordinator(fleet.Options{Workers: r.Workers, Tool: r.tool(), Keys: keys, Check: r.Profile.CheckMetrics})
	if r.server, err = serve(r.Join, keys, r.Log, r.coordinator, r.receiver); err != nil {
		return err
	}
	if err := r.startWorkers(ctx); err != nil {
		return err
	}
	r.joined, err = r.awaitWorkers(ctx)
	return err
}

// startWorkers starts the workers, or says how others start them.
func (r *run) startWorkers(ctx context.Context) (err error) {
	engine, address := r.Engine, r.server.address
	switch {
	case !r.Join.Remote:
		engine, address = local.Engine{Executable: r.Executable}, r.server.here()
	case engine == nil:
		r.step(fmt.Sprintf("waiting for workers, 0 of %d: start each with", r.Workers))
		r.step(r.server.joinLine(r.Join))
		if r.server.Address().Addr().IsLoopback() && r.Join.Advertise == "" {
			r.note("this address is for workers on this machine; for others, listen on an address of this machine's network: --listen ADDRESS:PORT")
		}
		return nil
	}
	launch, err := r.Launch(address.String(), r.server.token)
	if err != nil {
		return err
	}
	if list := r.instances(); list != nil {
		urls, err := list(ctx)
		if err != nil {
			r.note(err.Error())
		}
		launch.TargetPorts = portsOf(urls)
	}
	if r.workers, err = engine.Start(ctx, launch); err != nil {
		return err
	}
	r.unjoined = make(chan fleet.Ended, r.Workers)
	crash.Go(func() { // ends with the last worker
		for range r.Workers {
			e := <-r.workers.Ended()
			if !r.coordinator.WorkerEnded(e) {
				r.unjoined <- e
			}
		}
	})
	return nil
}

// Longest is how long the run of a plan can take, from the start of its workers on.
func Longest(o Options, p plan.Plan) time.Duration {
	return o.joinTimeout() + o.startTimeout() + p.Duration() + p.Longest() + overtime + stopTimeout
}

func (o Options) joinTimeout() time.Duration { return cmp.Or(o.Join.Timeout, DefaultJoinTimeout) }

func (o Options) startTimeout() time.Duration { return cmp.Or(o.StartTimeout, DefaultStartTimeout) }

// awaitWorkers waits until all workers have joined, and reports how many have.
func (r *run) awaitWorkers(ctx context.Context) ([]wire.Hello, error) {
	limit := r.joinTimeout()
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("the limit is %s", limit))
	defer cancel()
	type result struct {
		all []wire.Hello
		err error
	}
	done := make(chan result, 1)
	crash.Go(func() {
		var d result
		d.err = crash.Call(func() (err error) {
			d.all, err = r.coordinator.AwaitWorkers(ctx)
			return err
		})
		done <- d
	})
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	obstacles := map[string]bool{} // that were reported
	for said := ""; ; {
		select {
		case d := <-done:
			return d.all, r.joinError(d.err)
		case e := <-r.unjoined:
			who := cmp.Or(e.Name, "a worker")
			if e.Pod != "" {
				who = "the worker of pod " + e.Pod
			}
			return nil, fmt.Errorf("%s ended before it joined (%s): %s", who, e.Status, cmp.Or(e.Output, "it has printed nothing"))
		case <-tick.C:
			for _, text := range r.coordinator.Rejected() {
				r.note(text)
			}
			for _, text := range r.obstacles() {
				if !obstacles[text] {
					obstacles[text] = true
					r.note(text)
				}
			}
			hosts := r.coordinator.Hosts()
			if text := strings.Join(hosts, ", "); text != said && r.Join.Remote {
				said = text
				r.step(fmt.Sprintf("%d of %d workers have joined, on: %s", len(hosts), r.Workers, cmp.Or(text, "none")))
			}
		}
	}
}

// obstacles says why workers have not started yet.
func (r *run) obstacles() []string {
	if r.workers == nil {
		return nil
	}
	return r.workers.Obstacles()
}

// joinError is the error of workers that have not joined in time.
func (r *run) joinError(err error) error {
	switch {
	case err == nil || !r.Join.Remote:
		return err
	case r.workers == nil:
		return hint.With(err, "start the missing ones with the line above, or allow more time: --join-timeout 30m")
	}
	if all := r.obstacles(); len(all) > 0 {
		err = fmt.Errorf("%w; %s", err, all[0])
	}
	return hint.With(err, "remove what keeps them from starting, or allow more time: --join-timeout 30m")
}

// weights are the workers' parts of the load: equal, or by their CPUs.
func (r *run) weights() []int {
	weights := slices.Repeat([]int{1}, r.Workers)
	if r.Join.ByCPUs {
		for i, h := range r.joined {
			weights[i] = max(1, h.Machine.CPUs)
		}
	}
	return weights
}

// checkWorkers fails if a worker that has joined cannot carry its share.
func (r *run) checkWorkers() error {
	if !r.Join.Remote {
		return nil // the preflight has checked this machine
	}
	for i, h := range r.joined {
		found := doctor.Worker(doctor.Load{Profile: r.Profile, Plan: r.plan}, i, h.Machine)
		if err := refusal(found); err != nil {
			return hint.With(fmt.Errorf("%s on %s: %w", metric.WorkerSource(i), h.Machine.Name, err), hint.Of(err))
		}
	}
	return nil
}

// Launch is what an engine is asked for.
func (o Options) Launch(address, token string) (fleet.Launch, error) {
	p, err := plan.New(o.Profile, o.Workers, o.Seed)
	if err != nil {
		return fleet.Launch{}, err
	}
	database := ""
	if named, err := databases.Parse(o.DSN); err == nil && o.Profile.NeedsDatabase() {
		database = named.Address
	}
	var nodes []string
	if named, err := databases.ParseNodes(o.Nodes); err == nil && o.Profile.NeedsNodes() {
		for _, n := range named {
			nodes = append(nodes, n.Address)
		}
	}
	return fleet.Launch{
		Run: o.ID, Workers: o.Workers, Database: database, Nodes: nodes, Address: address, Token: token,
		Target: o.Target, Hosts: slices.Concat(o.File.Targets, o.AllowHosts), Longest: Longest(o, p),
	}, nil
}

// portsOf are the ports of URLs that have one.
func portsOf(urls []string) (ports []int) {
	for _, text := range urls {
		if u, err := url.Parse(text); err == nil {
			if n, err := strconv.Atoi(u.Port()); err == nil {
				ports = append(ports, n)
			}
		}
	}
	return ports
}

// assign gives the workers their shares and the script.
func (r *run) assign(ctx context.Context) error {
	dsn, nodes := "", ""
	if r.Profile.NeedsDatabase() {
		dsn = r.DSN
	}
	if r.Profile.NeedsNodes() {
		nodes = r.Nodes
	}
	archive, err := fleet.Archive(ctx, r.Executable, r.script(), fleet.Environment(r.Profile, r.Target, r.ID, r.Seed, dsn, nodes))
	if err != nil {
		return err
	}
	sum := sha256.Sum256(archive)
	spec := fleet.Spec{
		Run: r.ID, Profile: r.Profile, Plan: r.plan, Archive: hex.EncodeToString(sum[:]), Target: r.Target,
		Hosts: slices.Concat(r.File.Targets, r.AllowHosts), DSN: dsn, Nodes: nodes, Outputs: r.Outputs,
	}
	shares := make([]wire.Assignment, r.Workers)
	for i := range shares {
		if shares[i], err = spec.Assignment(i); err != nil {
			return err
		}
	}
	r.coordinator.Assign(shares, archive, r.writer.WorkersDir())
	return nil
}

// workerHosts describes where the workers run.
func (r *run) workerHosts() (all []record.WorkerHost) {
	here := host.Boot()
	for i, h := range r.joined {
		m := h.Machine
		all = append(all, record.WorkerHost{
			Source: metric.WorkerSource(i), Share: r.plan.Workers[i].Share, Local: m.Boot == here && here != "", Pod: m.Pod, Node: m.Node,
			Host: record.Host{Name: m.Name, OS: m.OS, Kernel: m.Kernel, CPU: m.CPU, CPUs: m.CPUs, Memory: m.Memory},
		})
	}
	return all
}

// awaitStart waits until every worker has initialised, and fails at once when one
// ends instead. It returns t0.
func (r *run) awaitStart(ctx context.Context) (time.Time, error) {
	limit := r.startTimeout()
	tooLong := fmt.Errorf("the limit is %s", limit)
	ctx, cancel := context.WithTimeoutCause(ctx, limit, tooLong)
	ctx, giveUp := context.WithCancelCause(ctx)
	defer giveUp(nil)
	var watching crash.Group
	watching.Go(func() {
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case err := <-r.writeErrors: // by what the collectors have measured
				giveUp(hint.With(err, otherFolder))
			case <-tick.C:
				r.coordinator.LoseSilent()
			}
		}
	})
	t0, err := r.coordinator.AwaitStart(ctx)
	cancel()
	watching.Wait()
	var ended *fleet.EndedError
	next := ""
	switch {
	case errors.Is(err, tooLong):
		next = "look for what takes so long in its init code or setup(): assay k6 run " + r.script().String()
	case !errors.As(err, &ended):
		return t0, err
	case ended.Status == "": // the worker could not even start k6
		next = "mend what its error names; its files are in the folder of TMPDIR"
	case ended.Status != strconv.Itoa(arrivals.EgressViolationExit): // alone, it would send to that host
		next = "try the scenario alone: assay k6 run " + r.script().String()
	}
	return time.Time{}, hint.With(fmt.Errorf("%s: %w", r.script(), err), next)
}

// stopTimeout is how long the workers may take to end, to interrupt their iterations
// and to deliver their last frames.
const stopTimeout = wire.LostAfter + 10*time.Second

// endWorkers asks the workers to end their load, and returns when all have ended or
// ctx is done.
func (r *run) endWorkers(ctx context.Context, why string) {
	r.coordinator.Stop(why)
	if r.workers != nil {
		r.workers.Resume()
	}
	limit := time.NewTimer(stopTimeout)
	defer limit.Stop()
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for waiting := true; waiting; {
		select {
		case <-r.coordinator.Done():
			return
		case <-tick.C:
			r.coordinator.LoseSilent()
			continue
		case <-limit.C:
		case <-ctx.Done():
		}
		waiting = false
	}
	if r.workers != nil {
		r.workers.Kill()
		select {
		case <-r.coordinator.Done():
			return
		case <-time.After(killTimeout):
		}
	}
	r.coordinator.LoseAll("it did not end in time")
}

// killTimeout is how long the end of killed processes may take to be noticed.
const killTimeout = 2 * time.Second

// killLeft kills workers that may still run although the load has ended: one that is lost
// could add rows while the ledger is compared. After an interrupt no time is left to wait
// for the end of any.
func (r *run) killLeft(ctx context.Context) {
	lost := slices.ContainsFunc(r.coordinator.Exits(), func(e fleet.Exit) bool { return e.Status == fleet.Lost })
	if r.workers != nil && (lost || ctx.Err() != nil) {
		r.workers.Kill()
	}
}

// podsTimeout is how long the cluster may take to say how the pods of workers ended.
const podsTimeout = 15 * time.Second

// workerFacts is how each worker ended.
func (r *run) workerFacts(ctx context.Context) (all []record.Worker) {
	var pods map[string]record.Pod
	if w, inPods := r.workers.(fleet.InPods); inPods {
		ctx, cancel := context.WithTimeout(ctx, podsTimeout)
		defer cancel()
		pods = w.Pods(ctx)
	}
	for i, e := range r.coordinator.Exits() {
		w := record.Worker{Source: e.Source, Exit: e.Status, Error: e.Error, Logged: e.Logged}
		if i < len(r.joined) { // a continued run does not know
			if pod, known := pods[r.joined[i].Machine.Pod]; known {
				w.Pod = &pod
			}
		}
		all = append(all, w)
	}
	return all
}
