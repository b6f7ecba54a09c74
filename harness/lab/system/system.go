package system

import (
	"context"
	"errors"
	"log/slog"

	"assay/harness/hint"
	"assay/harness/lab/stack"
	"assay/harness/observe/influx"
	"assay/harness/run"
	"assay/harness/trial"
)

// Options name the system.
type Options struct {
	Target    string    // base URL; empty: the local stack
	Databases Databases // of the target
	// OwnDatabase says that --db named the database: it is read beside the local
	// stack too. A stack is read by its own database otherwise.
	OwnDatabase bool
	Influx      influx.Access
	Executable  string // this program
	KeepStack   bool   // leave a stack that was started
	Log         *slog.Logger
	Console     *trial.Console
	// CheckMachine finds what this machine lacks for the runs. It is called before a
	// stack is started: one on a machine that cannot carry it fails in stranger ways.
	CheckMachine func() error
}

// System is ready for runs.
type System struct {
	Target    string // base URL
	Databases Databases
	View      *influx.Server // where runs are shown while they go on; nil: nowhere
	release   []func()
}

// Configure puts the system into the options of a run.
func (s *System) Configure(o *run.Options) {
	o.Target, o.View = s.Target, s.View
	o.DSN, o.Insights, o.Readers = s.Databases.DSN, s.Databases.Insights, s.Databases.Readers
}

// Release stops what Acquire started, and gives the local stack free.
func (s *System) Release() {
	for i := len(s.release) - 1; i >= 0; i-- {
		s.release[i]()
	}
}

// Acquire gets the system ready. What an experiment left changed in it is set back
// first.
func Acquire(ctx context.Context, o Options) (_ *System, err error) {
	if _, err := o.Influx.Server(); err != nil {
		return nil, err // before anything is started
	}
	s := &System{Target: o.Target, Databases: o.Databases}
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

// acquireStack takes the local stack for the runs, and starts of it what is not up.
// The result is the InfluxDB to use.
func (s *System) acquireStack(ctx context.Context, o Options) (influx.Access, error) {
	if err := o.CheckMachine(); err != nil {
		return o.Influx, err
	}
	free, err := stack.Reserve(stack.DefaultDir)
	if err != nil {
		return o.Influx, err
	}
	s.release = append(s.release, free)
	p := o.Console.Progress("stack")
	p.Step("looking for the local stack")
	if err := o.restore(ctx, p); err != nil {
		return o.Influx, err
	}
	state, started, err := stack.Up(ctx, stack.Options{Executable: o.Executable}, o.Log)
	if err != nil {
		return o.Influx, err
	}
	if started != (stack.Parts{}) && !o.KeepStack {
		s.release = append(s.release, func() {
			if err := stack.Down(context.WithoutCancel(ctx), stack.DefaultDir, started); err != nil {
				o.Log.Error("stack not stopped", "error", err)
			}
		})
	}
	s.Target = state.TargetURL()
	p.Note("no --target: the load goes to the reference service, " + s.Target)
	if !o.OwnDatabase {
		if o.Databases.named() {
			p.Note("the local stack has its own database: ASSAY_DB is not used without --target")
		}
		s.Databases.DSN, s.Databases.Insights = state.CollectorDSN(), nil
	}
	if o.Influx.URL == "" {
		return influx.Access{URL: state.InfluxURL(), Token: state.InfluxToken()}, nil
	}
	return o.Influx, nil
}

// InfluxOrStack is the local stack's InfluxDB where no other is named; an error
// where neither is.
func InfluxOrStack(a influx.Access) (influx.Access, error) {
	if a.URL == "" {
		if state, _, err := stack.Status(stack.DefaultDir); err == nil && state != nil {
			a = influx.Access{URL: state.InfluxURL(), Token: state.InfluxToken()}
		}
	}
	if a.URL == "" {
		return a, hint.With(errors.New("no InfluxDB is named, and no local stack has one"),
			"set ASSAY_INFLUX_URL to its address, like http://127.0.0.1:8086, and ASSAY_INFLUX_TOKEN to user:password; or: assay stack up")
	}
	return a, nil
}
