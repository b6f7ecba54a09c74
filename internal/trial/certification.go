package trial

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"time"

	"assay.dev/assay/internal/hint"
	"assay.dev/assay/internal/judge/verdict"
	"assay.dev/assay/internal/plan"
	"assay.dev/assay/internal/rulebook"
	"assay.dev/assay/internal/run"
	"assay.dev/assay/internal/spec"
	"assay.dev/assay/internal/trial/attempts"
)

// tooShort is why a profile is too short for a certificate, with the time that recoveries may take
// of it, and the remedy; empty: it is not.
func tooShort(p spec.Profile) (why, remedy string) {
	const least = rulebook.CertificateHold
	hold, lost := p.TargetHold(), p.InRecoveries()
	switch {
	case hold < least:
		return fmt.Sprintf("holds its target for %s: a certificate takes at least %s", hold, least), "lengthen it with --hold 10m, or leave --scope out"
	case hold < least+lost && p.HasStages():
		remedy = fmt.Sprintf("lengthen its judged stages by %s, or say --scope smoke", least+lost-hold)
	case hold < least+lost:
		remedy = fmt.Sprintf("lengthen it with --hold %.0fs, or say --scope smoke", math.Ceil((least + lost).Seconds()))
	default:
		return "", ""
	}
	return fmt.Sprintf("holds its target for %s, of which recoveries may take %s: a certificate judges at least %s", hold, lost, least), remedy
}

// Runs returns the options of each profile's run. shared are the options that all runs have in
// common; without a scope it is that of the length of a run's windows. out is the run folder, or
// the parent of the run folders of several profiles; empty: a new one in the folder of runs.
func Runs(shared run.Options, profiles []spec.Profile, out string) (runs []run.Options, err error) {
	switch shared.Scope {
	case "", spec.ScopeSmoke, spec.ScopeCertificate:
	default:
		return nil, fmt.Errorf("--scope is %q: it must be smoke or certificate", shared.Scope)
	}
	for _, p := range profiles {
		o := shared
		o.ID, o.Profile, o.Undecided, o.Count = NewID(p.Name), p, verdict.Undecided, attempts.Of(o.File.Path, o.Runs).Begin
		if o.Scope == "" {
			o.Scope = p.Scope()
		}
		if pl, err := plan.New(p, 1, 1); err == nil && pl.UnjudgedPeak() >= 0 { // of all flows together
			peak := pl.Stages[pl.UnjudgedPeak()]
			return nil, hint.With(fmt.Errorf("profile %s runs at %g/s from second %g on, above the highest judged rate of %g/s, and nothing judges that",
				p.Name, peak.To, peak.Start.Seconds(), pl.HighestJudged()), spec.PeakHint)
		}
		if o.Scope == spec.ScopeCertificate {
			if why, remedy := tooShort(p); why != "" {
				return nil, hint.With(fmt.Errorf("profile %s %s", p.Name, why), remedy)
			}
		}
		o.Profile = p.InScope(o.Scope)
		switch {
		case out == "":
			o.Dir = filepath.Join(o.Runs, o.ID)
		case len(profiles) > 1:
			o.Dir = filepath.Join(out, p.Name)
		default:
			o.Dir = out
		}
		runs = append(runs, o)
	}
	return runs, nil
}

// LoadChange is the command line's changes to a profile's load.
type LoadChange struct{ spec.Override }

// Profiles returns the named profiles with the changes applied.
func (l LoadChange) Profiles(file spec.File, names []string) (profiles []spec.Profile, err error) {
	if l != (LoadChange{}) && len(names) > 1 {
		return nil, hint.With(errors.New("--rate and --hold change a single profile, and several are named"), "name one profile per command")
	}
	for i, name := range names {
		if slices.Contains(names[:i], name) {
			return nil, hint.With(fmt.Errorf("profile %s is named twice", name), "name each profile once; to repeat a run, repeat the command")
		}
		p, err := file.Profile(name)
		if err != nil {
			return nil, err
		}
		if p, err = l.Apply(p); err != nil {
			return nil, err
		}
		profiles = append(profiles, p)
	}
	return profiles, nil
}

// RandomSeed returns a seed below 2^53, which every JSON reader holds exactly.
func RandomSeed() uint64 { return rand.Uint64N(1 << 53) }

// NewID returns a unique run id that sorts by time: 20261120T231500Z-payment-1f3a.
func NewID(profile string) string {
	return fmt.Sprintf("%s-%s-%04x", time.Now().UTC().Format("20060102T150405Z"), profile, rand.N(1<<16))
}

const latestLink = "latest"

// CheckLatest fails if the link "latest" could not be set in this folder of runs.
func CheckLatest(runs string) error {
	link := filepath.Join(runs, latestLink)
	if info, err := os.Lstat(link); err == nil && info.Mode()&os.ModeSymlink == 0 {
		return hint.With(fmt.Errorf("%s is not a link, and cannot be set to the next run", link),
			"rename it, or name another folder with --out")
	}
	return nil
}

// linkLatest atomically sets the link "latest" in a folder of runs to this run.
func linkLatest(runs, id string) error {
	link, tmp := filepath.Join(runs, latestLink), filepath.Join(runs, "."+latestLink+"-"+id)
	if err := os.Symlink(id, tmp); err != nil {
		return fmt.Errorf("link latest run: %w", err)
	}
	if err := os.Rename(tmp, link); err != nil {
		return fmt.Errorf("link latest run: %w", errors.Join(err, os.Remove(tmp)))
	}
	return nil
}
