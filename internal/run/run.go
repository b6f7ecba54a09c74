package run

import (
	"context"
	"errors"
	"sync"

	"assay.dev/assay/internal/crash"
	"assay.dev/assay/internal/doctor"
)

// Run carries out one run. When it returns nil the record is sealed, whether the
// load completed or not; if ctx is done after the load has begun, it is sealed as
// interrupted. An error before the load leaves no folder behind.
func Run(ctx context.Context, o Options) error {
	if o.ForceStop == nil {
		o.ForceStop = context.WithoutCancel(ctx)
	}
	o.Progress = oneAtATime(o.Progress)
	if o.Resume {
		return resume(ctx, &o)
	}
	found, err := o.preflight(ctx)
	if err != nil {
		return err
	}
	for _, f := range found {
		if f.State == doctor.Warning {
			o.note(f.Why + "; " + f.Remedy)
		}
	}
	in := newIntake(o.Profile, o.Readers)
	c, err := gather(ctx, &o, in)
	if err != nil {
		return err
	}
	l, err := start(ctx, c, in, found)
	if err != nil {
		return err
	}
	return l.complete(ctx, func() {
		if len(o.Profile.Faults) > 0 {
			l.faults = inject(ctx, &o, l.t0.Add(l.plan.Judged[0].Start))
		}
	})
}

// complete calls begin, watches the load to its end, and seals the record. A panic is an
// error: the load is stopped, and what the run has started and changed is undone as usual.
func (l *loading) complete(ctx context.Context, begin func()) error {
	failed := crash.Call(func() error {
		begin()
		if l.stopped == "" {
			l.watch(ctx)
		}
		return nil
	})
	ended := crash.Call(func() error {
		if failed != nil {
			l.stop(failed.Error())
		}
		return l.drain(ctx).seal(ctx)
	})
	var ours *crash.Error
	if errors.As(ended, &ours) {
		ended = errors.Join(ended, l.undo())
	}
	return errors.Join(failed, ended)
}

// oneAtATime is a function that several goroutines may call. A panic of it ends the run like
// one of a goroutine, wherever it was called.
func oneAtATime(report func(Event)) func(Event) {
	var mu sync.Mutex
	return func(e Event) {
		mu.Lock()
		defer mu.Unlock()
		defer crash.Report()
		report(e)
	}
}
