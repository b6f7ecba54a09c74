package run

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"assay.dev/assay/internal/hint"
	"assay.dev/assay/internal/load/fleet"
	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/observe/record"
	"assay.dev/assay/internal/servers/statefile"
	"assay.dev/assay/internal/wire"
)

// stateFile is in the run folder from the start of the load until the record is sealed.
const stateFile = "coordinator.json"

func (o *Options) statePath() string { return filepath.Join(o.Dir, stateFile) }

// savedState is what a restarted coordinator needs.
type savedState struct {
	fleet.State
	Join  Join   `json:"join"`  // without the token
	Token string `json:"token"` // a signature that only the run's token makes
	Begun []byte `json:"begun"` // the seal of what began, made with the key that is to seal the record; nil: there is none
}

// begun is what the begin of a run is sealed as, which is the seal of no record.
func (o *Options) begun() (name string, plan []byte, err error) {
	p, err := record.ReadPlan(o.Dir)
	if err == nil {
		plan, err = json.Marshal(p)
	}
	return o.ID + " has begun", plan, err
}

// sealBegin seals the begin of the run; nil without a key.
func (o *Options) sealBegin() ([]byte, error) {
	if o.Sealer == nil {
		return nil, nil
	}
	name, plan, err := o.begun()
	if err != nil {
		return nil, err
	}
	return o.Sealer.Seal(name, plan)
}

// beginSealer is what seals the record of a continued run: nil, unless the same key has sealed
// its begin. Somebody else may have made what is in the folder.
func (o *Options) beginSealer(seal []byte) record.Sealer {
	if o.Sealer == nil {
		return nil
	}
	name, plan, err := o.begun()
	if err == nil {
		err = o.Sealer.Verify(seal, name, plan)
	}
	if err != nil {
		o.note("the record will not be sealed: the run was begun without this signing key")
		return nil
	}
	return o.Sealer
}

func (o *opened) saveState() error {
	begun, err := o.sealBegin()
	if err != nil {
		return fmt.Errorf("write %s: %w", stateFile, err)
	}
	s := savedState{o.crew.coordinator.State(), o.Join, wire.NewKeys(o.ID, o.Join.Token).Proof(), begun}
	s.Join.Listen = o.crew.server.Address().String()
	for _, file := range []*string{&s.Join.Certificate, &s.Join.Key} {
		if *file == "" {
			continue
		}
		if *file, err = filepath.Abs(*file); err != nil {
			return fmt.Errorf("write %s: %w", stateFile, err)
		}
	}
	return statefile.Write(o.statePath(), s)
}

// resume continues a run under load whose coordinator was killed: workers that run on
// deliver what they hold, and the record is sealed at the end as usual. If it is too
// late, the sealed record says so. ID, plan, target and the address to listen on are those
// of the run.
func resume(ctx context.Context, o *Options) error {
	if o.Join.Token == "" {
		return hint.With(errors.New("a run can be continued only with its token"), "set ASSAY_JOIN_TOKEN, as for the command that started it")
	}
	var state savedState
	err := statefile.Read(o.statePath(), &state)
	switch {
	case record.CheckSeal(o.Dir) == nil:
		return hint.With(fmt.Errorf("continue run %s: it is complete, and its record is sealed", o.Dir), "assay judge "+o.Dir)
	case err != nil:
		return hint.With(fmt.Errorf("continue run %s: its load had not begun: %w", o.Dir, err), "certify again")
	case wire.NewKeys(o.ID, o.Join.Token).Proof() != state.Token:
		return hint.With(fmt.Errorf("continue run %s: ASSAY_JOIN_TOKEN is not the token of this run", o.Dir), "set the token with which the run was started; if Assay chose it, the run cannot be continued")
	}
	state.Join.Token = o.Join.Token
	o.Join = state.Join
	l, err := reopen(o, state)
	if err != nil {
		return err
	}
	return l.complete(ctx, func() { l.goOn(ctx) })
}

// reopen continues the record, and listens where the killed coordinator did.
func reopen(o *Options, state savedState) (*loading, error) {
	p, err := record.ReadPlan(o.Dir)
	if err != nil {
		return nil, err
	}
	o.ID, o.Profile, o.Target, o.Workers = p.Run, p.Profile, p.Target, len(state.Members)
	in := newIntake(p.Profile, p.Readers)
	in.looks, in.checker = newLooks(p.Load, o.Undecided), record.NewChecker(p)
	in.checker.Start(state.T0)
	run := &opened{Options: o, in: in, plan: p.Load, planned: p}
	closed := map[string]bool{}
	in.writer, run.resumed, err = record.Resume(o.Dir, func(f metric.Frame) error {
		closed[f.Source] = closed[f.Source] || f.Closing
		if f, contradicted := in.check(f); contradicted == nil { // else it ends the run as soon as it goes on
			in.watch.add(f)
			in.looks.add(f)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	in.writer.Sealer = o.beginSealer(state.Begun)
	keys := wire.NewKeys(o.ID, o.Join.Token)
	run.crew = &crew{Options: o, receiver: in.receiver(o, keys)}
	run.crew.receiver.Continue(run.resumed.Sequences, run.resumed.Batches)
	run.crew.coordinator = fleet.Continue(fleet.Options{Tool: o.tool(), Keys: keys, Check: o.Profile.CheckMetrics}, state.State,
		func(i int) bool { return closed[metric.WorkerSource(i)] }, in.writer.WorkersDir())
	if !o.Join.Remote {
		run.crew.coordinator.LoseAll("it ran on the coordinator's machine, and ended with the coordinator")
	}
	if run.crew.server, err = serve(o.Join, keys, o.Log, run.crew.coordinator, run.crew.receiver); err != nil {
		return nil, errors.Join(err, in.writer.Close())
	}
	l := &loading{measuring: &measuring{opened: run}, faults: &injector{}}
	l.setStart(state.T0)
	return l, nil
}

// goOn begins again what the killed coordinator did. Without what protects others from the
// load, it ends.
func (l *loading) goOn(ctx context.Context) {
	away := time.Since(l.t0).Round(time.Second)
	l.step(fmt.Sprintf("continuing %s, %s after its start", l.ID, away))
	l.Limitations = append(l.Limitations, fmt.Sprintf("the coordinator was killed under load, and continued the run %s after its start: what only it measured has a gap", away))
	l.begin(ctx)
	l.faults = undoFaults(ctx, l.Options, l.t0)
	l.measure(ctx)
	l.begins(l.resumed.Environment)
	if err := l.unguarded(); err != nil {
		l.stop(err.Error())
	}
}
