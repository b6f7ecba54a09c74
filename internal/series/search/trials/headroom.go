package trials

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"assay.dev/assay/internal/judge/sealed"
	"assay.dev/assay/internal/run"
	"assay.dev/assay/internal/series/search"
	"assay.dev/assay/internal/spec"
	"assay.dev/assay/internal/trial"
)

// Headroom searches for the highest rate within the SLOs, after a run that passed: from its
// target upwards, each flow at its target and all of them in proportion, without the shape
// of an event, by trials of a length. Trials and document are in the run's folder
// (sealed.HeadroomDir). Its result is no part of what the certificate claims.
func Headroom(ctx context.Context, passed run.Options, length time.Duration, c *trial.Console) (search.Document, error) {
	t, err := headroom(passed, length)
	if err != nil {
		return search.Document{}, fmt.Errorf("headroom: %w", err)
	}
	t.Console = &trial.Console{W: c.W, Quiet: c.Quiet, Once: true}
	return t.Search(ctx, nil)
}

// CheckHeadroom refuses a profile with which Headroom could decide nothing.
func CheckHeadroom(o run.Options, length time.Duration) error {
	t, err := headroom(o, length)
	if err == nil {
		err = t.CheckParameters()
	}
	if err != nil {
		return fmt.Errorf("headroom: %w", err)
	}
	return nil
}

func headroom(passed run.Options, length time.Duration) (*Trials, error) {
	p := passed.Profile.Level(length)
	p.Faults, p.Invariants = nil, nil
	p.Common = withoutFaults(p.Common)
	for i := range p.Flows {
		p.Flows[i].SLOs = withoutFaults(p.Flows[i].SLOs)
	}
	short, changed, err := search.Shorten(p, length)
	if err != nil {
		return nil, err
	}
	t := New(search.Parameters{
		ID: "headroom-of-" + passed.ID, Workers: passed.Workers, Seed: passed.Seed + 1, Target: passed.Target,
		Goal: search.Goal{Trials: spec.DefaultTrials, Width: spec.DefaultWidth}, Range: search.Range{From: p.Target(), Max: spec.MaxRate},
	}, short, changed)
	t.Options, t.Dir, t.Label = passed, filepath.Join(passed.Dir, sealed.HeadroomDir), passed.Profile.Name+", headroom"
	return t, nil
}

// withoutFaults are the SLOs that do not depend on faults or on the end of the load.
func withoutFaults(slos []spec.SLO) (kept []spec.SLO) {
	for _, s := range slos {
		if s.Kind() != spec.KindRecovery && s.Kind() != spec.KindInvariants {
			kept = append(kept, s)
		}
	}
	return kept
}
