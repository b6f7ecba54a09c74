package run

import (
	"context"
	"errors"
	"strings"

	"assay.dev/assay/internal/doctor"
	"assay.dev/assay/internal/hint"
	"assay.dev/assay/internal/observe/collect/scrape"
	"assay.dev/assay/internal/plan"
)

// subject is what the doctor examines for the run.
func (o Options) subject() (doctor.Subject, error) {
	pl, err := plan.New(o.Profile, o.Workers, o.Seed)
	if err != nil {
		return doctor.Subject{}, err
	}
	subject := doctor.Subject{
		File: o.File, Loads: []doctor.Load{{Profile: o.Profile, Plan: pl}}, Run: o.ID, Seed: o.Seed, Dir: o.Dir, EmptyDir: true,
		Target: o.Target, AllowHosts: o.AllowHosts, DSN: o.DSN, Nodes: o.Nodes, Insights: o.Insights, Readers: o.Readers, Executable: o.Executable, Remote: o.Join.Remote,
	}
	if subject.Instances = o.instances(); subject.Instances != nil {
		subject.Service = o.TargetService.String()
	}
	return subject, nil
}

// instances lists those whose metrics are read one by one; nil: the metrics are read at
// Target. Instances that serve HTTPS have certificates for Target's name alone.
func (o System) instances() scrape.Instances {
	if o.TargetService == nil || strings.HasPrefix(o.Target, "https:") {
		return nil
	}
	return o.TargetService.URLs
}

// Check returns the first problem that would keep a run from starting, before
// anything is written or sent.
func Check(ctx context.Context, o Options) error {
	_, err := o.preflight(ctx)
	return err
}

// CheckMachine returns the first thing that this machine lacks for the run. It
// needs no target: a local stack on a machine too small for it would fail later,
// with a less helpful error.
func CheckMachine(o Options) error {
	if o.Resume {
		return nil
	}
	s, err := o.subject()
	if err != nil {
		return err
	}
	return refusal(doctor.Machine(s))
}

// CheckTarget returns what is wrong with the target's URL, or that load may not be sent to
// its host. It sends nothing: only the workers may be able to reach it.
func CheckTarget(o Options) error {
	return refusal(doctor.TargetURL(doctor.Subject{File: o.File, Target: o.Target, AllowHosts: o.AllowHosts}))
}

// preflight returns the findings of the doctor, and the first failed one as an
// error.
func (o Options) preflight(ctx context.Context) (doctor.Findings, error) {
	s, err := o.subject()
	if err != nil {
		return nil, err
	}
	found := doctor.Machine(s)
	if err := errors.Join(refusal(found), CheckFaults(ctx, o.Profile, o.FaultNodes)); err != nil {
		return nil, err
	}
	if err := CheckStubs(ctx, o); err != nil {
		return nil, err
	}
	found = append(found, doctor.External(ctx, s)...)
	if ctx.Err() != nil { // interrupted checks prove nothing
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
