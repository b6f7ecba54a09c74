package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"assay/harness/doctor"
	"assay/harness/hint"
	"assay/harness/load/arrivals"
	"assay/harness/load/fleet"
	"assay/harness/load/fleet/local"
	"assay/harness/observe/collect/databases"
	"assay/harness/observe/collect/receiver"
	"assay/harness/observe/collect/service"
	"assay/harness/observe/influx"
	"assay/harness/observe/ledger"
	"assay/harness/observe/metric"
	"assay/harness/observe/record"
	"assay/harness/plan"
)

// Run carries out one run. When it returns nil the record is sealed, whether the
// load completed or not; if ctx is done after the load has begun, it is sealed as
// interrupted. An error before the load leaves no folder behind.
func Run(ctx context.Context, o Options) error {
	if o.ForceStop == nil {
		o.ForceStop = context.WithoutCancel(ctx)
	}
	pl, err := plan.New(o.Profile, o.Workers, o.Seed)
	if err != nil {
		return err
	}
	found, err := o.preflight(ctx)
	if err != nil {
		return err
	}
	scripts, err := scriptDigests(o.script())
	if err != nil {
		return err
	}
	planned := record.Plan{
		Schema: "assay/plan/v1", Run: o.ID, Profile: o.Profile, Load: pl, Target: o.Target,
		Database: o.database(), Insights: o.insights(), Readers: o.readers(), Thresholds: record.Digest{Path: o.File.Path, SHA256: o.File.Digest},
		Scripts: scripts, Scope: o.Scope, Tool: o.Tool, Overrides: o.Overrides,
	}
	w, err := record.Create(o.Dir, planned)
	if err != nil {
		return hint.With(err, "name another folder with --out")
	}
	r := &run{
		Options: o, planned: planned, plan: pl, found: found, writer: w, writeErrors: make(chan error, 1),
		ledger: newReconciler(o), watch: newWatcher(o.Profile.Abort), looks: newLooks(pl, o.Undecided),
	}
	for _, f := range found {
		if f.State == doctor.Warning {
			r.note(f.Why + "; " + f.Remedy)
		}
	}
	if err := r.start(ctx); err != nil {
		return errors.Join(err, r.abandon())
	}
	r.load(ctx)
	return r.finish(ctx)
}

// run is one run under way.
type run struct {
	Options
	planned   record.Plan
	plan      plan.Plan
	found     doctor.Findings // of the preflight
	writer    *record.Writer
	ledger    *reconciler
	watch     *watcher
	receiver  *receiver.Receiver
	server    *server
	fleet     *local.Fleet
	collect   *collection
	service   *service.Collector
	database  databases.Collector // nil: none
	view      *influx.View        // nil: none
	t0        time.Time           // with a monotonic reading
	clockStep time.Duration       // largest change of the wall clock since t0
	stopped   string              // why the load ended early; empty: it did not
	aborted   *record.Abort       // abort condition that stopped the load; nil: none
	looks     *looks              // nil: the plan has a single look
	ended     time.Time           // when the load was stopped early

	writeErrors chan error // holds the first failure to append to the record
	writeError  error      // that failure, once the run has ended because of it
}

// start starts the receiver, workers and collectors, and waits until all workers
// have initialised and know t0.
func (r *run) start(ctx context.Context) error {
	r.receiver = receiver.New(receiver.Sinks{Frame: r.frame, Acknowledged: r.acknowledged}, r.Log)
	coordinator := fleet.NewCoordinator(len(r.plan.Workers), r.Profile.CheckMetrics)
	var err error
	if r.server, err = serve(coordinator, r.receiver); err != nil {
		return err
	}
	r.openView(ctx)
	r.step(fmt.Sprintf("initialising %s", vusText(r.plan)))
	spec := fleet.Spec{
		Run: r.ID, Profile: r.Profile, Plan: r.plan, Script: r.script(), Target: r.Target, Hosts: slices.Concat(r.File.Targets, r.AllowHosts),
		URL: r.server.url, Token: r.server.token, Dir: r.writer.WorkersDir(), Outputs: r.Outputs,
	}
	if r.Profile.NeedsDatabase() {
		spec.DSN = r.DSN
	}
	if r.fleet, err = local.Start(spec, r.Executable); err != nil {
		return err
	}
	r.startCollectors(ctx)
	environment := r.environment(ctx)
	if err := r.writer.Environment(environment); err != nil {
		return err
	}
	t0, err := r.awaitStart(ctx, coordinator)
	if err != nil {
		return err
	}
	// The same instant on the monotonic clock, which the workers follow too.
	now := time.Now()
	r.t0 = now.Add(t0.Sub(now.Round(0)))
	r.beginView(environment)
	return nil
}

// awaitStart waits until every worker has initialised, and fails at once when one
// ends instead. It returns t0.
func (r *run) awaitStart(ctx context.Context, c *fleet.Coordinator) (time.Time, error) {
	limit := cmp.Or(r.StartTimeout, DefaultStartTimeout)
	tooLong := fmt.Errorf("the limit is %s", limit)
	ctx, cancel := context.WithTimeoutCause(ctx, limit, tooLong)
	defer cancel()
	type result struct {
		t0  time.Time
		err error
	}
	started := make(chan result, 1)
	go func() {
		t0, err := c.AwaitStart(ctx)
		if errors.Is(err, tooLong) {
			err = hint.With(fmt.Errorf("%s: %w", r.script(), err), "look for what takes so long in its init code or setup(): assay k6 run "+r.script())
		}
		started <- result{t0, err}
	}()
	select {
	case s := <-started:
		return s.t0, s.err
	case exit := <-r.fleet.Ended():
		// A worker that the coordinator refused exits too; the refusal is the better
		// reason.
		select {
		case s := <-started:
			if s.err != nil {
				return s.t0, s.err
			}
		case <-time.After(200 * time.Millisecond):
		}
		next := "try the scenario alone: assay k6 run " + r.script()
		if exit.Status == strconv.Itoa(arrivals.EgressViolationExit) {
			next = "" // alone, it would send to that host
		}
		return time.Time{}, hint.With(fmt.Errorf("%s: %s", r.script(), exit), next)
	}
}

// finish stops the collectors, reconciles the ledger, and seals the record. After
// ctx is done it still does so, but compares no ledger.
func (r *run) finish(ctx context.Context) error {
	// Counted from t0, as the wall clock may have been changed since.
	ended := r.t0.Round(0).Add(cmp.Or(r.ended, time.Now()).Sub(r.t0)).UTC()
	if r.Insights != nil {
		r.step("waiting for the last seconds of Performance Insights")
	}
	collected := r.collect.stop()
	errs := []error{r.close()}
	// Before the run's rows are removed: nothing may delay the seal after that.
	limitations := append(collected.notes, r.completeView(ctx)...)
	if r.Profile.Ledger != nil {
		r.step("comparing acknowledged and persisted transactions")
	}
	ledgerFact, err := r.ledger.reconcile(ctx, r.ForceStop, r.writer)
	errs = append(errs, err)
	facts := record.Facts{
		Schema: "assay/facts/v1", T0: r.t0.UTC(), Ended: ended, Stopped: r.stopped, Interrupted: ctx.Err() != nil,
		Look: r.looks.look(), Aborted: r.aborted, ClockStepMs: r.clockStepMs(),
		Collectors: collected.states, Ledger: ledgerFact, Limitations: slices.Concat(r.Limitations, r.found.Limitations(), limitations),
		Issued: time.Now().UTC().Truncate(time.Second), Attempts: r.Attempt,
	}
	for _, e := range r.fleet.Exits() {
		facts.Workers = append(facts.Workers, record.Worker{Source: e.Source, Exit: e.Status, Error: e.Error, Logged: e.Logged})
	}
	return r.sealError(cmp.Or(append(errs, r.writer.Seal(facts))...))
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

// abandon undoes start after a run that never began.
func (r *run) abandon() error {
	if r.fleet != nil {
		ctx, cancel := context.WithTimeout(r.ForceStop, 5*time.Second)
		defer cancel()
		r.fleet.Stop(ctx)
	}
	var errs []error
	if r.collect != nil {
		r.collect.stopWaiting()
		for _, text := range r.collect.stop().notes {
			errs = append(errs, errors.New(text)) // no record will have it
		}
	}
	errs = append(errs, r.close())
	if r.view != nil {
		r.view.Close()
	}
	return errors.Join(append(errs, r.writer.Discard())...)
}

// close stops listening; nothing is added to the record afterwards.
func (r *run) close() (err error) {
	if r.server != nil {
		err = r.server.close()
	}
	r.receiver.Close()
	return err
}

// frame adds one frame to the record.
func (r *run) frame(f metric.Frame) error {
	if err := r.writer.Frame(f); err != nil {
		return r.failWrite(err)
	}
	r.watch.add(f)
	r.looks.add(f)
	if r.view != nil {
		r.view.Add(f)
	}
	return nil
}

func (r *run) acknowledged(source string, entries []ledger.Entry) error {
	if err := r.writer.Acknowledged(source, entries); err != nil {
		return r.failWrite(err)
	}
	r.ledger.acks = append(r.ledger.acks, entries...)
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

func (r *run) note(text string) { r.Progress(Event{Kind: Note, Text: text}) }
