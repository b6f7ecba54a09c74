package run

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"assay.dev/assay/internal/crash"
	"assay.dev/assay/internal/hint"
	"assay.dev/assay/internal/observe/record"
	"assay.dev/assay/internal/servers/process"
	"assay.dev/assay/internal/spec"
)

// Nodes are the database servers into which a run injects faults.
type Nodes interface {
	// Names lists the nodes.
	Names() []string
	// Ready returns why a node is not in use; nil: it is.
	Ready(ctx context.Context, node string) error
	// Do does to a node what spec.DoKill, DoStop, DoCut or DoStart mean. It returns when
	// that is done, in bounded time; what has been done already is not done again.
	Do(ctx context.Context, node, action string) error
}

// faultTimeout bounds a command that injects or ends a fault, and what is done to a node.
// A server that recovers from a kill may take minutes to start.
const faultTimeout = 3 * time.Minute

// CheckFaults returns why a run could not inject a fault of a profile. nodes may be nil.
func CheckFaults(ctx context.Context, p spec.Profile, nodes Nodes) error {
	for _, f := range p.Faults {
		switch {
		case f.Node == "":
		case nodes == nil:
			return hint.With(fmt.Errorf("the profile's fault %q needs a node of the local stack, and this run has none", f),
				`start the stack with several nodes, assay-lab stack up --topology multi-primary, or write a command in "do"`)
		case !slices.Contains(nodes.Names(), f.Node):
			return hint.With(fmt.Errorf("the profile's fault %q: the stack has no node %s", f, f.Node),
				fmt.Sprintf("its nodes are %v; assay-lab stack up --topology selects others", nodes.Names()))
		default:
			if err := nodes.Ready(ctx, f.Node); err != nil {
				return fmt.Errorf("the profile's fault %q: %w", f, err)
			}
		}
	}
	return nil
}

// injector injects the profile's faults during the load, and ends them.
type injector struct {
	nodes   Nodes
	faults  []spec.Fault
	start   time.Time // start of the first judged window
	note    func(text string)
	facts   []record.Fault // each is that of a goroutine until these have ended
	running crash.Group
	cancel  context.CancelFunc
}

// inject starts to inject the faults of the profile; start is that of the first judged window.
// end ends those that still last.
func inject(ctx context.Context, o *Options, start time.Time) *injector {
	i := &injector{nodes: o.FaultNodes, faults: o.Profile.Faults, start: start, note: o.step, facts: make([]record.Fault, len(o.Profile.Faults))}
	ctx, i.cancel = context.WithCancel(ctx)
	for n := range i.faults {
		i.running.Go(func() { i.run(ctx, n) })
	}
	return i
}

// run injects one fault at its time, and ends it.
func (i *injector) run(ctx context.Context, n int) {
	f, fact := i.faults[n], &i.facts[n]
	if !sleep(ctx, time.Until(i.start.Add(f.At))) {
		fact.Error = "the load ended before its time"
		return
	}
	// What is down already would be killed once more without any effect.
	if f.Node != "" {
		if err := i.nodes.Ready(ctx, f.Node); err != nil {
			fact.Error = withHint(err, "; %s")
			return
		}
	}
	i.note("injecting the fault: " + f.String())
	fact.At = i.clock(time.Now())
	err := i.act(context.WithoutCancel(ctx), f, f.Do, f.Run)
	fact.Done, fact.Error = i.clock(time.Now()), withHint(err, "; %s")
	if f.For > 0 && sleep(ctx, time.Until(i.start.Add(f.At+f.For))) {
		i.finish(context.WithoutCancel(ctx), n)
	}
}

// finish ends a fault that was begun, unless it has been ended.
func (i *injector) finish(ctx context.Context, n int) {
	f, fact := i.faults[n], &i.facts[n]
	if fact.At.IsZero() || !fact.Ended.IsZero() && fact.EndError == "" || !f.Ends() {
		return
	}
	i.note("ending the fault: " + f.String())
	fact.Ended = i.clock(time.Now())
	err := i.act(ctx, f, spec.DoStart, f.Undo)
	if err != nil && f.Node != "" {
		err = hint.With(err, "bring it back: assay-lab stack node start "+f.Node)
	}
	fact.EndDone, fact.EndError = i.clock(time.Now()), withHint(err, "; %s")
}

// act does something to a node, or runs a command. A panic of it is an error.
func (i *injector) act(ctx context.Context, f spec.Fault, do string, command []string) (err error) {
	defer crash.Guard(&err)
	ctx, cancel := context.WithTimeoutCause(ctx, faultTimeout, fmt.Errorf("it took longer than %s", faultTimeout))
	defer cancel()
	switch {
	case f.Node == "":
		return process.Execute(ctx, command)
	case i.nodes == nil:
		return hint.With(errors.New("this process does not know the nodes of the stack"), "bring it back: assay-lab stack node start "+f.Node)
	}
	return i.nodes.Do(ctx, f.Node, do)
}

// clock is an instant on the record's clock, which follows the monotonic one from the
// start of the load.
func (i *injector) clock(at time.Time) time.Time {
	return i.start.Round(0).Add(at.Sub(i.start)).UTC()
}

// end injects no further faults, ends those that still last, and returns what came of
// each. It does so after ctx is done, too.
func (i *injector) end(ctx context.Context) []record.Fault {
	if len(i.faults) == 0 {
		return nil
	}
	i.cancel()
	i.running.Wait()
	for n := range i.faults {
		i.finish(context.WithoutCancel(ctx), n)
	}
	return i.facts
}

// undoFaults begins to end the faults of a profile, of which it is not known which last.
func undoFaults(ctx context.Context, o *Options, start time.Time) *injector {
	i := &injector{nodes: o.FaultNodes, faults: o.Profile.Faults, start: start, cancel: func() {}, facts: make([]record.Fault, len(o.Profile.Faults))}
	i.running.Go(func() {
		for n, f := range i.faults {
			i.facts[n].Error = "the coordinator was killed: it is not known what was injected"
			if f.Ends() {
				i.facts[n].EndError = withHint(i.act(context.WithoutCancel(ctx), f, spec.DoStart, f.Undo), "; %s")
			}
		}
	})
	return i
}

// sleep waits for a time; false: ctx was done before.
func sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}

// withHint is an error as text, with its hint in a format; empty for nil.
func withHint(err error, format string) string {
	if err == nil {
		return ""
	}
	text := err.Error()
	if next := hint.Of(err); next != "" {
		text += fmt.Sprintf(format, next)
	}
	return text
}
