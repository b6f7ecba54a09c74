package reproduce

import (
	"context"
	"fmt"
	"path/filepath"

	"assay.dev/assay/certificate"
	"assay.dev/assay/internal/run"
	"assay.dev/assay/internal/spec"
	"assay.dev/assay/internal/trial"
)

// Options are what every report needs.
type Options struct {
	Dir     string      // of the results
	Shared  run.Options // common to all runs: the system under test is set
	Console *trial.Console
	Quick   bool // short runs, which show that everything works, and hardly more
	Seed    uint64
}

// Certify certifies a profile, changed by change (nil: not), and returns its certificate,
// whatever the verdict is.
func (o Options) Certify(ctx context.Context, name string, change func(*spec.Profile)) (certificate.Certificate, error) {
	p, err := o.Shared.File.Profile(name)
	if err != nil {
		return certificate.Certificate{}, err
	}
	if change != nil {
		change(&p)
	}
	r := o.Shared
	r.ID, r.Profile, r.Scope, r.Seed = trial.NewID(name), p, spec.ScopeTrial, o.Seed
	r.Dir, r.Overrides = filepath.Join(o.Dir, name), o.Overrides()
	result, _, err := trial.Certify(ctx, r, o.Console, nil, "", trial.Run)
	if err != nil {
		return certificate.Certificate{}, fmt.Errorf("%s: %w", name, err)
	}
	if ctx.Err() != nil {
		return certificate.Certificate{}, context.Cause(ctx)
	}
	return result.Certificate(), nil
}

// Overrides are what a quick run changes of a profile; nil: nothing.
func (o Options) Overrides() map[string]string {
	if !o.Quick {
		return nil
	}
	return map[string]string{"load": "a quick one"}
}
