// SPDX-License-Identifier: Apache-2.0

package record

import (
	"fmt"

	"assay.dev/assay/internal/hint"
)

// CheckAsked returns an error unless a record that somebody else has made is of the run that
// was asked for: an older one, or one of another profile, may be in its place.
func CheckAsked(dir string, asked Plan) error {
	made, err := ReadPlan(dir)
	if err != nil {
		return err
	}
	for _, of := range []struct{ what, made, asked string }{
		{"run", made.Run, asked.Run},
		{"profile", made.Profile.Name, asked.Profile.Name},
		{"thresholds", made.Thresholds.SHA256, asked.Thresholds.SHA256},
		{"target", made.Target, asked.Target},
		{"scope", made.Scope, asked.Scope},
		{"overrides", fmt.Sprint(made.Overrides), fmt.Sprint(asked.Overrides)},
	} {
		if of.made != of.asked {
			return hint.With(fmt.Errorf("the record in %s is not of the run that was asked for: its %s is %.100q, not %.100q", dir, of.what, of.made, of.asked),
				"find out who has made it, and certify again")
		}
	}
	return nil
}
