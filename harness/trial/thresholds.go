package trial

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"assay/harness/foreign"
	"assay/harness/hint"
	"assay/harness/mask"
	"assay/harness/spec"
)

// ReadThresholds reads a file of profiles.
func ReadThresholds(ctx context.Context, path string) (spec.File, error) {
	data, err := foreign.ReadText(ctx, path, spec.MaxBytes)
	if err != nil {
		return spec.File{}, hint.With(fmt.Errorf("thresholds cannot be read: %w", err), "name the file with --thresholds FILE, or write one with: assay init DIR")
	}
	file, err := spec.Decode(path, data)
	if err != nil {
		return spec.File{}, err
	}
	return file, checkSecrets(file)
}

// checkSecrets refuses a file with a secret of this process, as it is copied into the record.
// Only values that are free text are looked at: a password may be a word of the rest.
func checkSecrets(f spec.File) error {
	for _, name := range slices.Sorted(maps.Keys(f.Profiles)) {
		p := f.Profiles[name]
		at := ""
		for _, variable := range slices.Sorted(maps.Keys(p.Env)) {
			if mask.Text(p.Env[variable]) != p.Env[variable] {
				at = "env." + variable
			}
		}
		for i, fault := range p.Faults {
			if commands := slices.Concat(fault.Run, fault.Undo); !slices.Equal(mask.Texts(commands), commands) {
				at = fmt.Sprintf("faults[%d]", i)
			}
		}
		if at != "" {
			return hint.With(fmt.Errorf("%s: profiles.%s.%s holds a secret of the environment, and the file is copied into the record", f.Path, name, at),
				"let the script read it from a file, open('secret.txt'), and a command from a variable")
		}
	}
	return nil
}

// LoadChange is the command line's changes to a profile's load. A nil field changes
// nothing.
type LoadChange struct {
	Rate *float64
	Hold *time.Duration
}

// Apply returns the changed profile.
func (l LoadChange) Apply(p spec.Profile) (_ spec.Profile, err error) {
	if l.Rate != nil {
		if p, err = p.WithRate(*l.Rate); err != nil {
			return p, fmt.Errorf("--rate: %w", err)
		}
	}
	if l.Hold != nil {
		if p, err = p.WithHold(*l.Hold); err != nil {
			return p, fmt.Errorf("--hold: %w", err)
		}
	}
	return p, nil
}

// Texts returns the changes by option, for the record.
func (l LoadChange) Texts() map[string]string {
	texts := map[string]string{}
	if l.Rate != nil {
		texts["rate"] = strconv.FormatFloat(*l.Rate, 'g', -1, 64)
	}
	if l.Hold != nil {
		texts["hold"] = l.Hold.String()
	}
	return texts
}

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
