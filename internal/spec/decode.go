// SPDX-License-Identifier: Apache-2.0

package spec

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"assay.dev/assay/internal/foreign"
)

// version of the format that this package reads.
const version = 1

// profileName restricts names of profiles and variants, which become part of folder
// names, tags and command lines.
var profileName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// badName is the problem of a name that does not match profileName.
func badName(what, name string) string {
	return fmt.Sprintf("%s name %s: want 1 to 64 letters, digits, dots, hyphens or underscores, beginning with a letter or digit", what, quote(name))
}

// Decode reads a thresholds.json, strictly. Its error is of type Errors: every
// mistake with its line. path is only used in errors and for File.Path.
func Decode(path string, data []byte) (_ File, err error) {
	defer foreign.Guard(&err)
	root, bad := parse(path, data, "")
	if bad != nil {
		return File{}, Errors{bad}
	}
	r := newReader(path, data)
	var f File
	if err := r.errors(func() { f = r.file(root) }); err != nil {
		return File{}, err
	}
	f.Path, f.Text, f.Digest = path, data, DigestOf(data)
	return f, nil
}

// DigestOf is the digest of a file with this content, as records and certificates state it.
func DigestOf(data []byte) string {
	sum := sha256.Sum256(data)
	return "sha256:" + hex.EncodeToString(sum[:])
}

func (r *reader) file(n *node) File {
	f := File{Profiles: map[string]Profile{}}
	if !r.version(n.get("version")) || !r.object(n, []string{"version", "profiles"}, []string{"$schema", "targets"}) {
		return f
	}
	r.reportDuplicates(n)
	r.is(n.get("$schema"), jsontext.KindString, exampleOf(n.get("$schema")))
	for _, h := range r.list(n.get("targets")) {
		f.Targets = append(f.Targets, r.host(h))
	}
	profiles := n.get("profiles")
	if !r.is(profiles, jsontext.KindBeginObject, exampleOf(profiles)) {
		return f
	}
	if len(profiles.children) == 0 {
		r.fail(profiles, "want at least one profile", "add "+example["profiles"])
	}
	for _, c := range profiles.children {
		if !profileName.MatchString(c.name) {
			r.failKey(c, badName("profile", c.name), "")
		}
		f.Profiles[c.name] = r.profile(c)
	}
	return f
}

// version is false for an unsupported version, of which nothing else is checked.
func (r *reader) version(n *node) bool {
	v, ok := r.number(n)
	if ok && v != version {
		r.fail(n, fmt.Sprintf("unsupported version %s: want %d", n.text, version), "")
		return false
	}
	return true
}

// reportDuplicates reports the duplicate keys of an object and of those below it.
// The values of the duplicates are not checked.
func (r *reader) reportDuplicates(n *node) {
	for _, c := range n.duplicates {
		r.failKey(c, fmt.Sprintf("duplicate key %s", quote(c.name)), "")
	}
	for _, c := range n.children {
		r.reportDuplicates(c)
	}
}

func (r *reader) host(n *node) string {
	host, ok := r.text(n)
	if ok && normalHost(host) != strings.ToLower(host) {
		r.fail(n, fmt.Sprintf("%s is not a host", quote(host)), `write the bare name or address, e.g. "staging.example": no scheme, port, path or wildcard`)
	}
	return host
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
	names := make([]string, 0, len(f.Profiles))
	for name := range f.Profiles {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
