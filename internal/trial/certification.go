package trial

import (
	"fmt"
	"path/filepath"

	"assay.dev/assay/internal/hint"
	"assay.dev/assay/internal/judge/verdict"
	"assay.dev/assay/internal/observe/record"
	"assay.dev/assay/internal/rulebook"
	"assay.dev/assay/internal/run"
	"assay.dev/assay/internal/spec"
)

// Certification is what one command line requests.
type Certification struct {
	Profiles []spec.Profile
	Changed  map[string]string // the command line's changes to the only profile
	Scope    string            // "smoke" or "certificate"; empty: by the length of the windows
	Out      string            // run folder, or the parent of the run folders of several profiles; empty: a new one in the folder of runs
	Seed     uint64
	Outputs  []string // further k6 outputs
}

// Runs returns the options of each profile's run. shared are the options that all
// runs have in common.
func (c Certification) Runs(shared run.Options) (runs []run.Options, err error) {
	switch c.Scope {
	case "", spec.ScopeSmoke, spec.ScopeCertificate:
	default:
		return nil, fmt.Errorf("--scope is %q: it must be smoke or certificate", c.Scope)
	}
	for _, p := range c.Profiles {
		o := shared
		o.ID, o.Profile, o.Overrides, o.Seed, o.Scope = NewID(p.Name), p, c.Changed, c.Seed, c.Scope
		if o.Scope == "" {
			o.Scope = p.Scope()
		}
		if o.Scope == spec.ScopeCertificate && p.TargetHold() < rulebook.CertificateHold {
			return nil, hint.With(fmt.Errorf("profile %s holds its target for %s: a certificate takes at least %s", p.Name, p.TargetHold(), rulebook.CertificateHold),
				"lengthen it with --hold 10m, or leave --scope out")
		}
		o.Outputs, o.Undecided = c.Outputs, verdict.Undecided
		switch {
		case c.Out == "":
			o.Dir, o.Attempt = filepath.Join(o.Runs, o.ID), record.Attempts(o.Runs, p.Name, o.Tool.Revision)+1
		case len(c.Profiles) > 1:
			o.Dir = filepath.Join(c.Out, p.Name)
		default:
			o.Dir = c.Out
		}
		runs = append(runs, o)
	}
	return runs, nil
}
