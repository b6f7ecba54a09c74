package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"

	"github.com/spf13/cobra"

	"assay/harness/lab/stack"
	"assay/harness/observe/influx"
	"assay/harness/run"
)

// ground is what one run after the other stands on.
type ground struct {
	executable string
	db         namedDatabases
	view       *influx.Server // nil: none
	log        *slog.Logger
	leave      func() // stops what was started for the runs
}

// prepare finds the target, its database and the view. Where no target is named
// it starts the local stack, after check has found nothing wrong: not before
// minutes are spent on a stack that this machine cannot carry.
func (f *certifyFlags) prepare(c *cobra.Command, check func(executable string) error) (_ ground, err error) {
	ctx := c.Context()
	unread()
	g := ground{log: slog.New(slog.NewTextHandler(c.ErrOrStderr(), &slog.HandlerOptions{Level: slog.LevelWarn})), leave: func() {}}
	env := os.Getenv("ASSAY_DB")
	if g.db, err = databaseNamed(f.db, f.readers, env); err != nil {
		return ground{}, err
	}
	influxURL, influxToken := influxAccess()
	if _, err := influxServer(influxURL, influxToken); err != nil {
		return ground{}, err // before anything is started
	}
	if g.executable, err = os.Executable(); err != nil {
		return ground{}, fmt.Errorf("find this program: %w", err)
	}
	if f.target != "" {
		if err := f.setBack(c, g); err != nil {
			return ground{}, err
		}
	}
	if f.target == "" {
		if err := check(g.executable); err != nil {
			return ground{}, err
		}
		p := newProgress(c.ErrOrStderr(), "stack", f.quiet)
		state, leave, err := f.occupy(ctx, g, p)
		if err != nil {
			return ground{}, err
		}
		g.leave = leave
		f.target = state.TargetURL()
		if influxURL == "" {
			influxURL, influxToken = state.InfluxURL(), state.InfluxToken()
		}
		p.tell(run.Event{Kind: run.Note, Text: "no --target: the load goes to the reference service, " + f.target})
		if f.db == "" { // what ASSAY_DB names is not what this service writes to
			g.db.dsn, g.db.insights = state.CollectorDSN(), nil
			if env != "" {
				p.tell(run.Event{Kind: run.Note, Text: "the local stack has its own database: ASSAY_DB is not used without --target"})
			}
		}
	}
	if g.view, err = influxServer(influxURL, influxToken); err != nil {
		g.leave()
		return ground{}, err
	}
	return g, nil
}

// occupy takes the local stack for the runs, and starts of it what is not up.
func (f *certifyFlags) occupy(ctx context.Context, g ground, p *progress) (_ *stack.State, leave func(), err error) {
	free, err := stack.Occupy(stack.DefaultDir)
	if err != nil {
		return nil, nil, err
	}
	p.tell(run.Event{Kind: run.Step, Text: "looking for the local stack"})
	if err := f.replay(ctx, g, p); err != nil {
		free()
		return nil, nil, err
	}
	state, started, err := stack.Up(ctx, stack.Options{Executable: g.executable}, g.log)
	if err != nil {
		free()
		return nil, nil, err
	}
	return state, func() {
		defer free() // last: what this command started is stopped by then
		if started == (stack.Parts{}) || f.keepStack {
			return
		}
		if err := stack.Down(context.WithoutCancel(ctx), stack.DefaultDir, started); err != nil {
			g.log.Error("stack not stopped", "error", err)
		}
	}, nil
}

// furnish gives a run what it stands on.
func (g ground) furnish(ctx context.Context, o *run.Options) {
	o.DSN, o.Insights, o.Readers = g.db.dsn, g.db.insights, g.db.readers
	o.View, o.Log, o.Hurry = g.view, g.log, hurried(ctx)
}
