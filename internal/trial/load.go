package trial

import (
	"errors"
	"fmt"
	"slices"

	"assay.dev/assay/internal/hint"
	"assay.dev/assay/internal/spec"
)

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
