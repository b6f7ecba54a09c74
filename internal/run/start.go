package run

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"time"

	"assay.dev/assay/internal/crash"
	"assay.dev/assay/internal/doctor"
	"assay.dev/assay/internal/hint"
	"assay.dev/assay/internal/load/arrivals"
	"assay.dev/assay/internal/load/fleet"
	"assay.dev/assay/internal/observe/record"
	"assay.dev/assay/internal/plan"
	"assay.dev/assay/internal/wire"
)

// start makes the record, gives the workers their shares, starts the collectors, and waits
// until all workers have initialised and know t0. If it fails, neither workers nor a folder
// are left.
func start(ctx context.Context, c *crew, in *intake, found doctor.Findings) (l *loading, err error) {
	var o *opened
	if err := crash.Call(func() (err error) { o, err = open(c, in, found); return err }); err != nil {
		err = errors.Join(err, c.close())
		if in.writer != nil {
			err = errors.Join(err, in.writer.Discard())
		}
		return nil, err
	}
	l = &loading{measuring: &measuring{opened: o}, faults: &injector{}}
	defer func() {
		if err != nil {
			err = errors.Join(err, l.abandon())
		}
	}()
	defer crash.Guard(&err)
	o.begin(ctx)
	o.step(fmt.Sprintf("initialising %s", vusText(o.plan)))
	if err := c.assign(ctx, o.plan, in.writer.WorkersDir()); err != nil {
		return l, err
	}
	l.measure(ctx)
	if err := l.unguarded(); err != nil {
		return l, err
	}
	environment := l.environment(ctx)
	if err := in.writer.Environment(environment); err != nil {
		return l, hint.With(err, otherFolder)
	}
	t0, err := c.awaitStart(ctx, in.failures)
	if err != nil {
		return l, err
	}
	in.checker.Start(t0)
	l.setStart(t0)
	l.begins(&environment)
	if o.Join.Remote && o.Join.Token != "" {
		o.step("if this coordinator is killed, continue within 30 s: assay certify --resume " + o.Dir)
	}
	return l, hint.With(o.saveState(), otherFolder)
}

// abandon undoes what was done for a run that never began, and removes its record, which nobody
// writes to any more.
func (l *loading) abandon() error {
	err := l.undo()
	_ = os.Remove(l.statePath())
	return errors.Join(err, l.in.writer.Discard())
}

func vusText(p plan.Plan) string {
	if len(p.Workers) == 1 {
		return fmt.Sprintf("%d VUs", p.Workers[0].VUs)
	}
	return fmt.Sprintf("%d workers of %d VUs", len(p.Workers), p.Workers[0].VUs)
}

// assign gives the workers their shares and the script. logs is the folder of their logs.
func (c *crew) assign(ctx context.Context, p plan.Plan, logs string) error {
	dsn, nodes := "", ""
	if c.Profile.NeedsDatabase() {
		dsn = c.DSN
	}
	if c.Profile.NeedsNodes() {
		nodes = c.Nodes
	}
	archive, err := fleet.Archive(ctx, c.Executable, c.script(), fleet.Environment(c.Profile, c.Target, c.ID, c.Seed, dsn, nodes))
	if err != nil {
		return err
	}
	sum := sha256.Sum256(archive)
	spec := fleet.Spec{
		Run: c.ID, Profile: c.Profile, Plan: p, Archive: hex.EncodeToString(sum[:]), Target: c.Target,
		Hosts: slices.Concat(c.File.Targets, c.AllowHosts), DSN: dsn, Nodes: nodes, Outputs: c.Outputs,
	}
	shares := make([]wire.Assignment, c.Workers)
	for i := range shares {
		if shares[i], err = spec.Assignment(i); err != nil {
			return err
		}
	}
	c.coordinator.Assign(shares, archive, logs)
	return nil
}

// awaitStart waits until every worker has initialised, and fails at once when one
// ends instead, or what was measured meanwhile cannot be recorded. It returns t0.
func (c *crew) awaitStart(ctx context.Context, failures <-chan error) (time.Time, error) {
	limit := c.startTimeout()
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
			case err := <-failures:
				giveUp(hint.With(err, otherFolder))
			case <-tick.C:
				c.coordinator.LoseSilent()
			}
		}
	})
	t0, err := c.coordinator.AwaitStart(ctx)
	cancel()
	watching.Wait()
	var ended *fleet.EndedError
	next := ""
	switch {
	case errors.Is(err, tooLong):
		next = "look for what takes so long in its init code or setup(): assay k6 run " + c.script().String()
	case !errors.As(err, &ended):
		return t0, err
	case ended.Status == "": // the worker could not even start k6
		next = "mend what its error names; its files are in the folder of TMPDIR"
	case ended.Status != strconv.Itoa(arrivals.EgressViolationExit): // alone, it would send to that host
		next = "try the scenario alone: assay k6 run " + c.script().String()
	}
	return time.Time{}, hint.With(fmt.Errorf("%s: %w", c.script(), err), next)
}

// setStart sets the instant at which the load begins, or has begun, which is the same on the
// monotonic clock, which the workers follow too.
func (l *loading) setStart(t0 time.Time) {
	now := time.Now()
	l.t0 = now.Add(t0.Sub(now.Round(0)))
}

// begins tells those who show, answer and count the load that it begins, or has begun. A
// continued run may not know the environment: nil.
func (l *loading) begins(e *record.Environment) {
	for _, s := range l.stubs {
		s.LoadStarts(l.t0)
	}
	if l.Count != nil {
		of := record.Environment{}
		if e != nil {
			of = *e
		}
		l.attempt, l.earlier = l.Count(l.planned, of)
	}
	if e != nil {
		l.in.view.begin(l.planned, *e, l.t0)
	}
}
