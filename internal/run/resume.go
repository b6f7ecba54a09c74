package run

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"assay.dev/assay/internal/hint"
	"assay.dev/assay/internal/load/fleet"
	"assay.dev/assay/internal/observe/collect/receiver"
	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/observe/record"
	"assay.dev/assay/internal/servers/statefile"
	"assay.dev/assay/internal/wire"
)

// stateFile is in the run folder from the start of the load until the record is sealed.
const stateFile = "coordinator.json"

func (r *run) statePath() string { return filepath.Join(r.Dir, stateFile) }

// savedState is what a restarted coordinator needs.
type savedState struct {
	fleet.State
	Join  Join   `json:"join"`  // without the token
	Token string `json:"token"` // a signature that only the run's token makes
	Begun []byte `json:"begun"` // the seal of what began, made with the key that is to seal the record; nil: there is none
}

// begun is what the begin of a run is sealed as, which is the seal of no record.
func (r *run) begun() (name string, plan []byte, err error) {
	p, err := record.ReadPlan(r.Dir)
	if err == nil {
		plan, err = json.Marshal(p)
	}
	return r.ID + " has begun", plan, err
}

// sealBegin seals the begin of the run; nil without a key.
func (r *run) sealBegin() ([]byte, error) {
	if r.Sealer == nil {
		return nil, nil
	}
	name, plan, err := r.begun()
	if err != nil {
		return nil, err
	}
	return r.Sealer.Seal(name, plan)
}

// checkBegin seals the record of a continued run only if the same key has sealed its begin:
// somebody else may have made what is in the folder.
func (r *run) checkBegin(seal []byte) {
	if r.Sealer == nil {
		return
	}
	name, plan, err := r.begun()
	if err == nil {
		err = r.Sealer.Verify(seal, name, plan)
	}
	if err != nil {
		r.note("the record will not be sealed: the run was begun without this signing key")
		return
	}
	r.writer.Sealer = r.Sealer
}

func (r *run) saveState() error {
	begun, err := r.sealBegin()
	if err != nil {
		return fmt.Errorf("write %s: %w", stateFile, err)
	}
	s := savedState{r.coordinator.State(), r.Join, wire.NewKeys(r.ID, r.Join.Token).Proof(), begun}
	s.Join.Listen = r.server.Address().String()
	for _, file := range []*string{&s.Join.Certificate, &s.Join.Key} {
		if *file == "" {
			continue
		}
		path, err := filepath.Abs(*file)
		if err != nil {
			return fmt.Errorf("write %s: %w", stateFile, err)
		}
		*file = path
	}
	return statefile.Write(r.statePath(), s)
}

// resume continues a run under load whose coordinator was killed: workers that run on
// deliver what they hold, and the record is sealed at the end as usual. If it is too
// late, the sealed record says so. ID, plan, target and the address to listen on are those
// of the run.
func resume(ctx context.Context, o Options) error {
	if o.Join.Token == "" {
		return hint.With(errors.New("a run can be continued only with its token"), "set ASSAY_JOIN_TOKEN, as for the command that started it")
	}
	r := &run{Options: o, writeErrors: make(chan error, 1), contradictions: make(chan string, 1), delays: receiver.NewDelays()}
	var state savedState
	err := statefile.Read(r.statePath(), &state)
	switch {
	case record.CheckSeal(o.Dir) == nil:
		return hint.With(fmt.Errorf("continue run %s: it is complete, and its record is sealed", o.Dir), "assay judge "+o.Dir)
	case err != nil:
		return hint.With(fmt.Errorf("continue run %s: its load had not begun: %w", o.Dir, err), "certify again")
	case wire.NewKeys(o.ID, o.Join.Token).Proof() != state.Token:
		return hint.With(fmt.Errorf("continue run %s: ASSAY_JOIN_TOKEN is not the token of this run", o.Dir), "set the token with which the run was started; if Assay chose it, the run cannot be continued")
	}
	r.Join = state.Join
	r.Join.Token = o.Join.Token
	if err := r.reopen(state.State); err != nil {
		return err
	}
	r.checkBegin(state.Begun)
	if err := r.listenAgain(); err != nil {
		return errors.Join(err, r.writer.Close())
	}
	now := time.Now()
	r.t0 = now.Add(state.T0.Sub(now.Round(0)))
	return r.complete(ctx, func() { r.goOn(ctx) })
}

// goOn begins again what the killed coordinator did. Without what protects others from the
// load, it ends.
func (r *run) goOn(ctx context.Context) {
	away := time.Since(r.t0).Round(time.Second)
	r.step(fmt.Sprintf("continuing %s, %s after its start", r.ID, away))
	r.Limitations = append(r.Limitations, fmt.Sprintf("the coordinator was killed under load, and continued the run %s after its start: what only it measured has a gap", away))
	r.openView(ctx)
	r.records.Store(true)
	r.injector = r.undoFaults(ctx)
	r.startCollectors(ctx)
	for _, s := range r.stubs {
		s.LoadStarts(r.t0)
	}
	if e := r.resumed.Environment; e != nil {
		r.beginView(*e)
	}
	if err := r.unguarded(); err != nil {
		r.stop(err.Error())
	}
}

// reopen continues the record.
func (r *run) reopen(state fleet.State) (err error) {
	p, err := record.ReadPlan(r.Dir)
	if err != nil {
		return err
	}
	r.planned, r.plan, r.ID, r.Profile, r.Target, r.Workers = p, p.Load, p.Run, p.Profile, p.Target, len(state.Members)
	r.ledger, r.watch, r.looks = newReconciler(r.Options), newWatcher(r.Profile.Abort, len(p.Readers)), newLooks(r.plan, r.Undecided)
	r.checker = record.NewChecker(p)
	r.checker.Start(state.T0)
	closed := map[string]bool{}
	r.writer, r.resumed, err = record.Resume(r.Dir, func(f metric.Frame) error {
		closed[f.Source] = closed[f.Source] || f.Closing
		if why := r.checker.Frame(f); why != nil {
			if metric.IsWorker(f.Source) {
				_ = r.contradicted(f.Source, why) // ends the run as soon as it goes on
				return nil
			}
			f = f.Sound()
		}
		r.watch.add(f)
		r.looks.add(f)
		return nil
	})
	if err != nil {
		return err
	}
	keys := wire.NewKeys(r.ID, r.Join.Token)
	r.receive(keys)
	r.receiver.Continue(r.resumed.Sequences, r.resumed.Batches)
	r.coordinator = fleet.Continue(fleet.Options{Tool: r.tool(), Keys: keys, Check: r.Profile.CheckMetrics}, state,
		func(i int) bool { return closed[metric.WorkerSource(i)] }, r.writer.WorkersDir())
	return nil
}

// listenAgain listens where the killed coordinator did. Workers that it had started
// itself have ended with it.
func (r *run) listenAgain() (err error) {
	if !r.Join.Remote {
		r.coordinator.LoseAll("it ran on the coordinator's machine, and ended with the coordinator")
	}
	r.server, err = serve(r.Join, wire.NewKeys(r.ID, r.Join.Token), r.Log, r.coordinator, r.receiver)
	return err
}

// numbered continues the numbers of the frames of this process's own sources, which
// start again at 1.
func (r *run) numbered(f metric.Frame) error {
	before := r.resumed.Sequences[f.Source]
	if before == 0 {
		return r.receiver.Take(f)
	}
	f.Sequence += before
	if f.Closing {
		f.Points = slices.Clone(f.Points)
		for i, p := range f.Points {
			if p.Series.Name == metric.WorkerFrames {
				f.Points[i].Value += float64(before)
			}
		}
	}
	return r.receiver.Take(f)
}
