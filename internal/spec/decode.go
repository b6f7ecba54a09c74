// SPDX-License-Identifier: Apache-2.0

package spec

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"regexp"
	"slices"
)

// profileName restricts names of profiles and variants, which become part of folder
// names, tags and command lines.
var profileName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// badName is the problem of a name that does not match profileName.
func badName(what, name string) string {
	return fmt.Sprintf("%s name %s: want 1 to 64 letters, digits, dots, hyphens or underscores, beginning with a letter or digit", what, quote(name))
}

// Decode reads a thresholds.json, strictly. Its error is of type Errors: every
// mistake with its line. path is only used in errors and for File.Path.
func Decode(path string, data []byte) (File, error) {
	f := File{Path: path, Text: data, Digest: DigestOf(data), Profiles: map[string]Profile{}}
	if err := decode(path, data, thresholdsSchema(), "", func(r *reader, root *node) {
		profiles := root.get("profiles")
		r.fill(root.get("targets"), &f.Targets)
		for _, c := range profiles.all() {
			f.Profiles[c.name] = r.profile(c)
		}
	}); err != nil {
		return File{}, err
	}
	return f, nil
}

// DigestOf is the digest of a file with this content, as records and certificates state it.
func DigestOf(data []byte) string {
	return fmt.Sprintf("sha256:%x", sha256.Sum256(data))
}

// Profile returns a profile by its name.
func (f File) Profile(name string) (Profile, error) {
	if p, ok := f.Profiles[name]; ok {
		return p, nil
	}
	names := f.Names()
	return Profile{}, &Error{
		Path: f.Path, Place: "profiles", Problem: unknown("profile", name, names),
		Next: "profiles: " + listed(names),
	}
}

// Names lists the profiles, sorted.
func (f File) Names() []string {
	return slices.Sorted(maps.Keys(f.Profiles))
}
