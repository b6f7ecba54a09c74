package run

import (
	"context"
	"errors"

	"assay/harness/doctor"
	"assay/harness/hint"
	"assay/harness/plan"
)

// subject is what the doctor has to look at for the run.
func (o Options) subject() (doctor.Subject, error) {
	pl, err := plan.New(o.Profile, o.Workers, o.Seed)
	if err != nil {
		return doctor.Subject{}, err
	}
	return doctor.Subject{
		File: o.File, Loads: []doctor.Load{{Profile: o.Profile, Plan: pl}}, Run: o.ID, Seed: o.Seed, Dir: o.Dir, EmptyDir: true,
		Target: o.Target, AllowHosts: o.AllowHosts, DSN: o.DSN, Insights: o.Insights, Readers: o.Readers, Executable: o.Executable,
	}, nil
}

// Check finds what would keep a run from starting, before anything is written
// or sent.
func Check(ctx context.Context, o Options) error {
	_, err := o.preflight(ctx)
	return err
}

// CheckMachine finds what this machine lacks for the run, before there is a
// target: a stack that is started on a machine that cannot carry it fails in
// stranger ways.
func CheckMachine(o Options) error {
	s, err := o.subject()
	if err != nil {
		return err
	}
	return refusal(doctor.Machine(s))
}

// preflight asks the doctor, and turns the first thing that is lacking into an
// error.
func (o Options) preflight(ctx context.Context) (doctor.Findings, error) {
	s, err := o.subject()
	if err != nil {
		return nil, err
	}
	found := doctor.Machine(s)
	if err := refusal(found); err != nil {
		return nil, err
	}
	found = append(found, doctor.External(ctx, s)...)
	if ctx.Err() != nil { // what was cut short says nothing
		return nil, context.Cause(ctx)
	}
	return found, refusal(found)
}

func refusal(found doctor.Findings) error {
	if f, lacking := found.Lacking(); lacking {
		return hint.With(errors.New(f.Why), f.Remedy)
	}
	return nil
}
