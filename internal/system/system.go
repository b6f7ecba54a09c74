package system

import (
	"cmp"
	"context"
	"errors"
	"log/slog"

	"assay.dev/assay/internal/hint"
	"assay.dev/assay/internal/localstack"
	"assay.dev/assay/internal/observe/influx"
	"assay.dev/assay/internal/run"
	"assay.dev/assay/internal/spec"
	"assay.dev/assay/internal/trial"
)

// Options select the system.
type Options struct {
	Target    string    // base URL; empty: the local stack
	Databases Databases // of the target
	// OwnDatabase: use Databases with the local stack too, instead of the stack's own
	// database (--db was given).
	OwnDatabase bool
	Influx      influx.Access
	Executable  string             // this program
	Stack       localstack.Options // of a local stack that is started; zero: its defaults
	File        spec.File          // the thresholds file, to whose folder paths are relative
	Profiles    []spec.Profile     // whose stubs are started with the local stack
	StubToken   string             // of stubs that run already; empty: none is given
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

	stubToken  string    // of the stubs
	nodes      string    // of the local stack's database, for scripts; empty: it is not used
	faultNodes run.Nodes // of the local stack; nil: it is not used
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
