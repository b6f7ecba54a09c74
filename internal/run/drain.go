package run

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"assay.dev/assay/internal/load/fleet"
	"assay.dev/assay/internal/mask"
	"assay.dev/assay/internal/observe/record"
	"assay.dev/assay/internal/quantity"
)

// drained is a run whose load has ended, and which takes nothing more into its record.
type drained struct {
	*loading
	ledger *reconciler
	facts  record.Facts
	err    error // why the record is not complete; nil: it is
}

// drain waits for the rows that are still being stored, stops the collectors and the server,
// and compares the ledger. After ctx is done it still does so, but compares no ledger.
func (l *loading) drain(ctx context.Context) *drained {
	d := &drained{loading: l, ledger: newReconciler(l.Options), facts: record.Facts{
		Schema: "assay/facts/v1", T0: l.t0.UTC(), Stopped: l.stopped, Aborted: l.aborted, Attempts: l.attempt, Earlier: l.earlier,
	}}
	f := &d.facts
	f.Faults = l.faults.end(ctx)
	// Counted from t0, as the wall clock may have been changed since.
	f.Ended = l.t0.Round(0).Add(cmp.Or(l.ended, time.Now()).Sub(l.t0)).UTC()
	if l.Insights != nil {
		l.step("waiting for the last seconds of Performance Insights")
	}
	f.Workers = l.crew.facts(l.ForceStop) // before they are removed
	l.crew.killLeft(ctx)
	if l.unwritten == nil {
		d.ledger.await(ctx, l.in.acks.Load(), d.stepWithLag)
	}
	collected := l.collect.stop()
	f.Collectors = collected.states
	stubFacts, limitations := d.stubFacts(ctx)
	f.Stubs = stubFacts
	limitations = slices.Concat(l.Limitations, l.found.Limitations(), limitations, collected.notes)
	limitations = append(limitations, l.in.watch.limitations(l.t0.Unix(), d.guardedUntil(f.Ended))...)
	if err := l.crew.stopListening(); err != nil {
		limitations = append(limitations, fmt.Sprintf("the coordinator's address was not served to the end: %v", err))
	}
	if l.unwritten == nil {
		limitations = append(limitations, l.in.view.complete(ctx, l.in.writer)...)
	} else { // no complete record to fill the view from
		l.in.view.close()
	}
	if text := l.crew.server.refused(); text != "" {
		limitations = append(limitations, "connections were refused by the coordinator: "+text)
	}
	if len(d.ledger.ledgers) > 0 {
		l.step("comparing acknowledged and persisted transactions")
	}
	if len(l.Profile.Invariants) > 0 {
		l.step("checking the invariants of the database")
	}
	f.Ledger, d.err = d.ledger.reconcile(ctx, l.in.writer)
	if err := d.keepPrinted(); err != nil {
		limitations = append(limitations, fmt.Sprintf("what the workers' commands printed was not kept: %v", err))
	}
	l.watchClock(time.Now())
	ms := float64(l.clockStep.Round(time.Millisecond)) / float64(time.Millisecond)
	f.ClockStepMs = &ms
	f.Invariants, f.Limitations, f.Look, f.Interrupted = d.ledger.violated, limitations, l.in.looks.look(), ctx.Err() != nil
	f.Issued = time.Now().UTC().Truncate(time.Second)
	return d
}

// guardedUntil is the second until which conditions are watched in a run that ended then.
func (d *drained) guardedUntil(ended time.Time) int64 {
	return min(ended.Unix(), d.t0.Add(d.plan.Duration()).Unix())
}

// stepWithLag is step with the persist lag, if it is read.
func (d *drained) stepWithLag(text string) {
	if ms, ok := d.in.watch.persistLag(d.watched() + 1); ok {
		text += ", persist lag " + quantity.Format(ms, "ms")
	}
	d.step(text)
}

// keepPrinted adds what the commands that started the workers have printed to the workers' logs.
func (d *drained) keepPrinted() (err error) {
	if w, ok := d.crew.workers.(fleet.Printing); ok && d.unwritten == nil {
		for name, text := range w.Printed() {
			err = cmp.Or(err, os.WriteFile(filepath.Join(d.in.writer.WorkersDir(), name), mask.Bytes(text), 0o644))
		}
	}
	return err
}
