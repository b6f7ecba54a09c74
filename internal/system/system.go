package system

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"

	"assay.dev/assay/internal/doctor"
	"assay.dev/assay/internal/hint"
	"assay.dev/assay/internal/localstack"
	"assay.dev/assay/internal/observe/influx"
	"assay.dev/assay/internal/plan"
	"assay.dev/assay/internal/run"
	"assay.dev/assay/internal/spec"
	"assay.dev/assay/internal/trial"
)

// Options select the system.
type Options struct {
	Target    string    // base URL; empty: the local stack
	Databases Databases // databases of the target
	// OwnDatabase: use Databases with the local stack too, instead of the stack's own
	// database (--db was given).
	OwnDatabase bool
	Influx      influx.Access
	Executable  string             // this program
	Stack       localstack.Options // options of a local stack that is started; zero: its defaults
	File        spec.File          // the thresholds file, to whose folder paths are relative
	Profiles    []spec.Profile     // whose stubs are started with the local stack
	StubToken   string             // token of stubs that run already; empty: none is given
	KeepStack   bool               // do not stop a stack that was started
	Log         *slog.Logger
	Console     *trial.Console
	// CheckMachine finds what this machine lacks for the runs. It is called before the
	// stack is started, whose errors on an unfit machine would be less clear.
	CheckMachine func() error
}

// System is ready for runs.
type System struct {
	Target    string // base URL
	Databases Databases
	View      *influx.Server // receives the frames of running runs; nil: none

	stubToken  string    // token of the stubs
	nodes      string    // nodes of the local stack's database, for scripts; empty: not used
	faultNodes run.Nodes // nodes of the local stack; nil: the stack is not used
	release    []func()
}

// Configure sets the system in the options of a run.
func (s *System) Configure(o *run.Options) {
	o.Target, o.View = s.Target, s.View
	o.DSN, o.Insights, o.Readers = s.Databases.DSN, s.Databases.Insights, s.Databases.Readers
	o.StubToken = s.stubToken
	o.Nodes, o.FaultNodes = cmp.Or(s.nodes, o.Nodes), s.faultNodes
}

// Release stops what Acquire started, and releases the local stack.
func (s *System) Release() {
	for i := len(s.release) - 1; i >= 0; i-- {
		s.release[i]()
	}
}

// Acquire prepares the system. It first undoes the changes of a killed experiment.
func Acquire(ctx context.Context, o Options) (_ *System, err error) {
	if _, err := o.Influx.Server(); err != nil {
		return nil, err // before anything is started
	}
	s := &System{Target: o.Target, Databases: o.Databases, stubToken: o.StubToken}
	defer func() {
		if err != nil {
			s.Release()
		}
	}()
	if o.Target != "" {
		err = o.restoreTarget(ctx)
	} else {
		o.Influx, err = s.acquireStack(ctx, o)
	}
	if err != nil {
		return nil, err
	}
	s.View, err = o.Influx.Server()
	return s, err
}

// acquireStack reserves the local stack, and starts the components that are down. It
// returns the InfluxDB to use.
func (s *System) acquireStack(ctx context.Context, o Options) (influx.Access, error) {
	if err := o.CheckMachine(); err != nil {
		return o.Influx, err
	}
	free, err := localstack.Reserve(localstack.DefaultDir)
	if err != nil {
		return o.Influx, err
	}
	s.release = append(s.release, free)
	p := o.Console.Progress("stack")
	p.Step("looking for the local stack")
	if err := o.restore(ctx, p); err != nil {
		return o.Influx, err
	}
	used, err := stubsOf(o.File, o.Profiles)
	if err != nil {
		return o.Influx, err
	}
	if o.Stack.TargetArgs, err = callingStubs(o.Stack.TargetArgs, runningArgs(ctx), used, o.Profiles, p); err != nil {
		return o.Influx, err
	}
	state, started, err := localstack.Up(ctx, localstack.DefaultDir, o.Stack)
	if err != nil {
		return o.Influx, err
	}
	if started != (localstack.Parts{}) && !o.KeepStack {
		s.release = append(s.release, func() {
			if err := localstack.Down(context.WithoutCancel(ctx), localstack.DefaultDir, started); err != nil {
				o.Log.Error("stack not stopped", "error", err)
			}
		})
	}
	if err := s.startStubs(ctx, o, used, p); err != nil {
		return o.Influx, err
	}
	s.Target = state.Target
	p.Note("no --target: using the reference service at " + s.Target)
	if !o.OwnDatabase {
		if o.Databases.named() {
			p.Note("ignoring ASSAY_DB: without --target, the database is that of the local stack")
		}
		s.Databases.DSN, s.Databases.Insights = state.Collector, nil
		s.nodes = state.NodesDSN
	}
	s.faultNodes = nodesOf(localstack.DefaultDir, state)
	if o.Influx.URL == "" {
		return influx.Access{URL: state.InfluxURL, Token: state.InfluxAuth}, nil
	}
	return o.Influx, nil
}

// InfluxOrStack is the named InfluxDB, or else that of the local stack; an error if there
// is neither.
func InfluxOrStack(ctx context.Context, a influx.Access) (influx.Access, error) {
	if a.URL == "" {
		if state, err := localstack.Status(ctx, localstack.DefaultDir); err == nil && state != nil {
			a = influx.Access{URL: state.InfluxURL, Token: state.InfluxAuth}
		}
	}
	if a.URL == "" {
		return a, hint.With(errors.New("no InfluxDB is named, and no local stack has one"),
			"set ASSAY_INFLUX_URL to its address, like http://127.0.0.1:8086, and ASSAY_INFLUX_TOKEN to user:password; or: assay-lab stack up")
	}
	return a, nil
}

// Names of the checks of a profile's faults, and of its stubs.
const (
	checkFaults = "faults"
	checkStubs  = "stubs"
)

// Examine finds what runs of the profiles lack, without starting anything. If o has no
// target it examines the local stack if that is up, with the stack's database unless
// ownDatabase is set.
func Examine(ctx context.Context, o run.Options, profiles []spec.Profile, d Databases, ownDatabase bool, view influx.Access) (doctor.Findings, error) {
	s := doctor.Subject{
		File: o.File, Run: trial.NewID("doctor"), Seed: 1, Dir: o.Runs, Target: o.Target, AllowHosts: o.AllowHosts, Executable: o.Executable,
		Influx: doctor.Influx{URL: view.URL, Token: view.Token}, DSN: d.DSN, Nodes: o.Nodes, Insights: d.Insights, Readers: d.Readers,
	}
	var decisions doctor.Findings
	for _, p := range profiles {
		pl, err := plan.New(p, o.Workers, s.Seed)
		if err != nil {
			return nil, err
		}
		s.Loads = append(s.Loads, doctor.Load{Profile: p, Plan: pl})
		found, err := trial.Decisions(p, o.Workers, p.Scope(), o.Runs)
		if err != nil {
			return nil, err
		}
		decisions = append(decisions, found...)
	}
	all := append(doctor.Machine(s), decisions...)
	var nodes run.Nodes
	if s.Target == "" {
		state, found := findStack(ctx)
		all = append(all, found)
		if state != nil {
			s.Target = state.Target
			if !ownDatabase {
				s.DSN, s.Insights, s.Nodes = state.Collector, nil, state.NodesDSN
			}
			nodes = nodesOf(localstack.DefaultDir, state)
		}
	}
	for _, p := range profiles {
		if err := run.CheckFaults(ctx, p, nodes); err != nil {
			all = append(all, doctor.Finding{
				Check: checkFaults, Profile: p.Name, State: doctor.Lacking, Observed: "no such node", Needed: "the nodes of the profile's faults", Why: err.Error(), Remedy: hint.Of(err),
			})
		}
	}
	all = append(all, examineStubs(ctx, o, profiles)...)
	all = append(all, doctor.External(ctx, s)...)
	return all, context.Cause(ctx) // interrupted checks are not findings
}

// checkStack is the name of the check of the local stack.
const checkStack = "stack"

// findStack checks that the local stack is up or can be started, and returns its state
// if it is up.
func findStack(ctx context.Context) (*localstack.State, doctor.Finding) {
	f := doctor.Finding{Check: checkStack, State: doctor.OK, Needed: "up, or can be started"}
	lacking := func(observed string, err error, remedy string) (*localstack.State, doctor.Finding) {
		f.State, f.Observed, f.Why, f.Remedy = doctor.Lacking, observed, err.Error(), remedy
		return nil, f
	}
	state, err := localstack.Status(ctx, localstack.DefaultDir)
	if err != nil {
		return lacking("not known", err, cmp.Or(hint.Of(err), "assay-lab stack status"))
	}
	if state != nil && state.Down == "" {
		f.Observed = "up, at " + state.Target
		return state, f
	}
	server, err := localstack.Server(ctx, localstack.DefaultDir)
	if err != nil {
		return lacking("down, and cannot be started", err, "apt-get install mariadb-server-core; or name another service with --target")
	}
	down := "target is down"
	if state != nil {
		down = state.Down
	}
	f.Observed = fmt.Sprintf("%s; certify starts it, with %s, or: assay-lab stack up", down, server)
	return nil, f
}

// stackNodes are the database nodes of the local stack, into which a run injects faults.
type stackNodes struct {
	dir   string
	names []string
}

func nodesOf(dir string, s *localstack.State) stackNodes { return stackNodes{dir, s.Nodes} }

func (n stackNodes) Names() []string { return n.names }

func (n stackNodes) Ready(ctx context.Context, node string) error {
	return localstack.NodeReady(ctx, n.dir, node)
}

// Do does something to a node, also while the run has reserved the stack.
func (n stackNodes) Do(ctx context.Context, node, action string) error {
	return localstack.NodeDo(ctx, n.dir, node, action)
}
