package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"assay.dev/assay/internal/crash"
	"assay.dev/assay/internal/doctor"
	"assay.dev/assay/internal/hint"
	"assay.dev/assay/internal/load/fleet"
	"assay.dev/assay/internal/mask"
	"assay.dev/assay/internal/observe/collect/databases"
	"assay.dev/assay/internal/observe/collect/receiver"
	"assay.dev/assay/internal/observe/collect/service"
	"assay.dev/assay/internal/observe/collect/stubs"
	"assay.dev/assay/internal/observe/influx"
	"assay.dev/assay/internal/observe/ledger"
	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/observe/record"
	"assay.dev/assay/internal/plan"
	"assay.dev/assay/internal/quantity"
	"assay.dev/assay/internal/wire"
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
		return resume(ctx, o)
	}
	found, err := o.preflight(ctx)
	if err != nil {
		return err
	}
	r := &run{
		Options: o, found: found, writeErrors: make(chan error, 1), contradictions: make(chan string, 1),
		ledger: newReconciler(o), watch: newWatcher(o.Profile.Abort, len(o.Readers)), delays: receiver.NewDelays(),
	}
	for _, f := range found {
		if f.State == doctor.Warning {
			r.note(f.Why + "; " + f.Remedy)
		}
	}
	begin := func() error {
		for _, next := range []func(context.Context) error{r.gather, r.create, r.start} {
			if err := next(ctx); err != nil {
				return err
			}
		}
		return nil
	}
	if err := crash.Call(begin); err != nil {
		return errors.Join(err, r.abandon())
	}
	return r.complete(ctx, func() { r.injector = r.inject(ctx) })
}

// complete calls begin, watches the load to its end, and seals the record. A panic is an
// error: the load is stopped, and what the run has started and changed is undone as usual.
func (r *run) complete(ctx context.Context, begin func()) error {
	r.injector = &injector{}
	failed := crash.Call(func() error {
		begin()
		if r.stopped == "" {
			r.load(ctx)
		}
		return nil
	})
	ended := crash.Call(func() error {
		if failed != nil {
			r.stop(failed.Error())
		}
		return r.finish(ctx)
	})
	var ours *crash.Error
	if errors.As(ended, &ours) {
		ended = errors.Join(ended, r.undo())
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

// run is one run under way.
type run struct {
	Options
	planned     record.Plan
	plan        plan.Plan
	found       doctor.Findings // of the preflight
	writer      *record.Writer
	ledger      *reconciler
	watch       *watcher
	receiver    *receiver.Receiver
	server      *server
	delays      *receiver.Delays
	coordinator *fleet.Coordinator
	workers     fleet.Workers    // that the run has started; nil: they are started by others
	unjoined    chan fleet.Ended // workers that ended before they had joined
	joined      []wire.Hello     // of the workers, by number
	collect     *collection
	service     *service.Collector
	stubs       []*stubs.Collector
	database    databases.Collector // nil: none
	view        *influx.View        // nil: none
	t0          time.Time           // with a monotonic reading
	clockStep   time.Duration       // largest change of the wall clock since t0
	stopped     string              // why the load ended early; empty: it did not
	aborted     *record.Abort       // abort condition that stopped the load; nil: none
	looks       *looks              // nil: the plan has a single look
	injector    *injector           // of the profile's faults
	ended       time.Time           // when the load was stopped early

	silent  map[int]bool   // workers that were not heard from in the last second
	resumed record.Resumed // what the record held when the coordinator was restarted

	records        atomic.Bool  // what is sent is added to the record, which exists
	acks           atomic.Int64 // transactions acknowledged to this process
	checker        *record.Checker
	contradictions chan string // holds the first of a worker

	writeErrors chan error // holds the first failure to append to the record
	writeError  error      // that failure, once the run has ended because of it
}

// create plans the load for the workers that have joined, and makes the run folder.
func (r *run) create(context.Context) (err error) {
	if r.plan, err = plan.NewWeighted(r.Profile, r.weights(), r.Seed); err != nil {
		return err
	}
	if err := r.checkWorkers(); err != nil {
		return err
	}
	scripts, err := r.scriptDigests()
	if err != nil {
		return err
	}
	r.planned = record.Plan{
		Schema: "assay/plan/v1", Run: r.ID, Profile: r.Profile, Load: r.plan, Target: r.Target,
		Database: r.Options.database(), Insights: r.insights(), Readers: r.readers(), Thresholds: record.Digest{Path: r.File.Path, SHA256: r.File.Digest},
		Scripts: scripts, Scope: r.Scope, Tool: r.Tool, Overrides: r.Overrides,
	}
	if r.writer, err = record.Create(r.Dir, r.planned); err != nil {
		return hint.Or(err, otherFolder)
	}
	r.writer.Sealer = r.Sealer
	if r.File.Digest != "" {
		if err := r.writer.Thresholds(r.File.Text); err != nil {
			return hint.With(err, otherFolder)
		}
	}
	r.looks, r.checker = newLooks(r.plan, r.Undecided), record.NewChecker(r.planned)
	return nil
}

// start gives the workers their shares, starts the collectors, and waits until all
// workers have initialised and know t0.
func (r *run) start(ctx context.Context) error {
	r.openView(ctx)
	r.records.Store(true)
	r.step(fmt.Sprintf("initialising %s", vusText(r.plan)))
	if err := r.assign(ctx); err != nil {
		return err
	}
	r.startCollectors(ctx)
	if err := r.unguarded(); err != nil {
		return err
	}
	environment := r.environment(ctx)
	if err := r.writer.Environment(environment); err != nil {
		return hint.With(err, otherFolder)
	}
	t0, err := r.awaitStart(ctx)
	if err != nil {
		return err
	}
	// The same instant on the monotonic clock, which the workers follow too.
	now := time.Now()
	r.t0 = now.Add(t0.Sub(now.Round(0)))
	r.checker.Start(t0)
	for _, s := range r.stubs {
		s.LoadStarts(r.t0)
	}
	r.beginView(environment)
	if r.Join.Remote && r.Join.Token != "" {
		r.step("if this coordinator is killed, continue within 30 s: assay certify --resume " + r.Dir)
	}
	return hint.With(r.saveState(), otherFolder)
}

// otherFolder is the next step if a run could not begin its folder.
const otherFolder = "make room on its disk (df -h, df -i), or name another folder with --out"

// finish stops the collectors, reconciles the ledger, seals the record, and removes the
// run's rows and the workers. After ctx is done it still does so, but compares no ledger.
func (r *run) finish(ctx context.Context) error {
	faults := r.injector.end(ctx)
	// Counted from t0, as the wall clock may have been changed since.
	ended := r.t0.Round(0).Add(cmp.Or(r.ended, time.Now()).Sub(r.t0)).UTC()
	if r.Insights != nil {
		r.step("waiting for the last seconds of Performance Insights")
	}
	workers := r.workerFacts(r.ForceStop) // before they are removed
	r.killLeft(ctx)
	if r.writeError == nil {
		r.ledger.await(ctx, r.acks.Load(), r.stepWithLag)
	}
	collected := r.collect.stop()
	stubFacts, limitations := r.stubFacts(ctx)
	limitations = append(limitations, collected.notes...)
	limitations = append(limitations, r.watch.limitations(r.t0.Unix(), r.guardedUntil(ended))...)
	if err := r.stopListening(); err != nil {
		limitations = append(limitations, fmt.Sprintf("the coordinator's address was not served to the end: %v", err))
	}
	limitations = append(limitations, r.completeView(ctx)...)
	if text := r.server.refused(); text != "" {
		limitations = append(limitations, "connections were refused by the coordinator: "+text)
	}
	if len(r.ledger.ledgers) > 0 {
		r.step("comparing acknowledged and persisted transactions")
	}
	if len(r.Profile.Invariants) > 0 {
		r.step("checking the invariants of the database")
	}
	ledgerFact, compareError := r.ledger.reconcile(ctx, r.writer)
	facts := record.Facts{
		Schema: "assay/facts/v1", T0: r.t0.UTC(), Ended: ended, Stopped: r.stopped, Interrupted: ctx.Err() != nil,
		Look: r.looks.look(), Aborted: r.aborted, ClockStepMs: r.clockStepMs(),
		Collectors: collected.states, Stubs: stubFacts, Ledger: ledgerFact, Faults: faults, Invariants: r.ledger.violated, Limitations: slices.Concat(r.Limitations, r.found.Limitations(), limitations),
		Issued: time.Now().UTC().Truncate(time.Second), Attempts: r.Attempt, Workers: workers,
	}
	sealed := r.sealError(cmp.Or(compareError, r.writer.Seal(facts)))
	_ = os.Remove(r.statePath()) // holds no secret, and is of no use any more
	// After the seal: it may take minutes to remove millions of rows or a cluster's workers,
	// or fail, and neither changes what was measured.
	if err := r.ledger.clean(ctx, r.ForceStop, r.step); err != nil {
		r.note("the run's rows were not all removed, which changes nothing in the record: " + databases.Reason(err) +
			"; remove them by the profile's ledger.cleanup, with the run " + r.ID)
	}
	if err := r.removeWorkers(); err != nil {
		r.note(removalText(err))
	}
	return sealed
}

// removalText says what is left of the workers, and how it is removed.
func removalText(err error) string {
	text := "the workers could not be removed completely, which changes nothing in the record: " + err.Error()
	if next := hint.Of(err); next != "" {
		text += "; " + next
	}
	return text
}

// sealError is the error of a record that could not be written completely; nil for
// nil.
func (r *run) sealError(err error) error {
	if r.writeError != nil {
		err = r.writeError
	}
	if err == nil {
		return nil
	}
	return hint.With(fmt.Errorf("the record could not be written: %w", err),
		fmt.Sprintf("free disk space and certify again; the record in %s is not sealed and proves nothing: remove it", r.Dir))
}

// abandon undoes what was done for a run that never began, and removes its record.
func (r *run) abandon() error {
	err := r.undo()
	if r.writer != nil {
		_ = os.Remove(r.statePath())
		err = errors.Join(err, r.writer.Discard())
	}
	return err
}

// undo ends and restores what the run has started and changed.
func (r *run) undo() error {
	var errs []error
	if r.coordinator != nil {
		r.coordinator.Refuse(errors.New("the run was not started"))
	}
	if r.collect != nil {
		r.collect.stopWaiting()
		for _, text := range r.collect.stop().notes {
			errs = append(errs, errors.New(text)) // no record will have it
		}
	}
	errs = append(errs, r.removeWorkers(), r.stopListening())
	if r.view != nil {
		r.view.Close()
	}
	return errors.Join(errs...)
}

// removeWorkers ends the workers that are left, and removes what was started for them.
func (r *run) removeWorkers() error {
	if r.workers == nil {
		return nil
	}
	defer context.AfterFunc(r.ForceStop, r.workers.Kill)()
	return r.workers.Close()
}

// stopListening ends the requests of workers; nothing of them is added to the record
// afterwards.
func (r *run) stopListening() (err error) {
	if r.server != nil {
		err = r.server.close()
	}
	if r.receiver != nil {
		r.receiver.Close()
	}
	return err
}

// receive makes the receiver of the run, which masks the texts of other senders, but for the
// words that the profile selects by.
func (r *run) receive(keys wire.Keys) {
	mask.Keep(r.Profile.Name)
	for _, f := range r.Profile.Flows {
		mask.Keep(f.Name)
	}
	for _, s := range r.Profile.AllSLOs() {
		mask.Keep(s.Words()...)
	}
	r.receiver = receiver.New(receiver.Sinks{Frames: r.frames, Acknowledged: r.acknowledged, Flush: r.flush}, keys, r.Log)
}

// errNotBegun is the answer to those who send before there is a record: they send again.
var errNotBegun = errors.New("the run has not begun")

// frames adds the frames of one message to the record. encoded is the message; nil: they
// are to be encoded.
func (r *run) frames(frames []metric.Frame, encoded []byte) (err error) {
	if !r.records.Load() {
		return errNotBegun
	}
	if encoded == nil {
		encoded, err = metric.Encode(frames...)
	}
	if err == nil {
		err = r.writer.Frames(encoded)
	}
	if err != nil {
		return r.failWrite(err)
	}
	for _, f := range frames {
		if why := r.checker.Frame(f); why != nil {
			if metric.IsWorker(f.Source) { // it is in the record, which is INVALID because of it
				err = cmp.Or(err, r.contradicted(f.Source, why))
				continue
			}
			f = f.Sound()
		}
		r.watch.add(f)
		r.delays.Add(f)
		r.looks.add(f)
		if r.view != nil {
			r.view.Add(f)
		}
	}
	return err
}

// contradicted ends the run because of what a worker cannot have measured, and refuses it.
func (r *run) contradicted(source string, why error) error {
	err := fmt.Errorf("%s contradicts itself: %w", source, why)
	select {
	case r.contradictions <- err.Error():
	default: // the first is enough
	}
	return receiver.NewImpossible(err)
}

func (r *run) acknowledged(source string, batch uint64, entries []ledger.Entry) error {
	if !r.records.Load() {
		return errNotBegun
	}
	if err := r.writer.Acknowledged(source, batch, entries); err != nil {
		return r.failWrite(err)
	}
	r.acks.Add(int64(len(entries)))
	return nil
}

// flush makes the record durable.
func (r *run) flush() error {
	if !r.records.Load() {
		return errNotBegun
	}
	if err := r.writer.Flush(); err != nil {
		return r.failWrite(err)
	}
	return nil
}

// failWrite ends the run because of a failed write: nothing can be appended after
// it, and a repeated frame would fail again.
func (r *run) failWrite(err error) error {
	select {
	case r.writeErrors <- err:
	default: // the first is enough
	}
	return err
}

func (r *run) step(text string) { r.Progress(Event{Kind: Step, Text: text}) }

// stepWithLag is step with the persist lag, if it is read.
func (r *run) stepWithLag(text string) {
	if ms, ok := r.watch.persistLag(r.watched() + 1); ok {
		text += ", persist lag " + quantity.Format(ms, "ms")
	}
	r.step(text)
}

func (r *run) note(text string) { r.Progress(Event{Kind: Note, Text: text}) }
