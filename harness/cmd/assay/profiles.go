package main

import (
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"assay/harness/spec"
)

// profiles are the named ones with the command line's overrides.
func (f *certifyFlags) profiles(c *cobra.Command, file spec.File, names []string) ([]spec.Profile, error) {
	changed := len(f.overrides(c)) > 0
	if changed && len(names) > 1 {
		return nil, &usageError{"--rate and --hold change one profile, and several are named", "certify them one by one"}
	}
	if err := f.checkWorkers(); err != nil {
		return nil, err
	}
	if f.scope != "" && f.scope != spec.Smoke && f.scope != spec.Certificate {
		return nil, &usageError{fmt.Sprintf("--scope is %q: smoke or certificate", f.scope), ""}
	}
	var profiles []spec.Profile
	for i, name := range names {
		if slices.Contains(names[:i], name) {
			return nil, &usageError{"profile " + name + " is named twice", "run it again afterwards: a run has a folder of its own"}
		}
		p, err := file.Profile(name)
		if err != nil {
			return nil, err
		}
		if c.Flags().Changed("rate") {
			if p, err = p.WithRate(f.rate); err != nil {
				return nil, fmt.Errorf("--rate: %w", err)
			}
		}
		if c.Flags().Changed("hold") {
			if p, err = p.WithHold(f.hold); err != nil {
				return nil, fmt.Errorf("--hold: %w", err)
			}
		}
		if f.scope == spec.Certificate && judgedLength(p) < spec.CertificateWindow {
			return nil, &usageError{
				fmt.Sprintf("profile %s holds its target for %s: a certificate takes at least %s", name, judgedLength(p), spec.CertificateWindow),
				"lengthen it with --hold 10m, or leave --scope out",
			}
		}
		profiles = append(profiles, p)
	}
	return profiles, nil
}

func (f *certifyFlags) checkWorkers() error {
	if f.workers < 1 || f.workers > spec.MaxWorkers {
		return &usageError{fmt.Sprintf("--workers is %d: from 1 to %d", f.workers, spec.MaxWorkers), ""}
	}
	return nil
}

// judgedLength is for how long the profile's judged windows hold its target:
// time at a lower rate certifies no more than that.
func judgedLength(p spec.Profile) time.Duration {
	total := p.Load.Hold
	for _, s := range p.Load.Stages {
		if s.Judge && s.Rate == p.Target() {
			total += s.For
		}
	}
	return total
}

func (f *certifyFlags) scopeOf(p spec.Profile) string {
	switch {
	case f.scope != "":
		return f.scope
	case judgedLength(p) >= spec.CertificateWindow:
		return spec.Certificate
	}
	return spec.Smoke
}

// overrides are what the command line changed of the profile.
func (f *certifyFlags) overrides(c *cobra.Command) map[string]string {
	changed := map[string]string{}
	for _, name := range []string{"rate", "hold"} {
		if flag := c.Flags().Lookup(name); flag.Changed {
			changed[name] = flag.Value.String()
		}
	}
	return changed
}
