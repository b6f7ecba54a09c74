// Package version says which build of the program this is, and by which rulebook it judges.
package version

import (
	"fmt"
	"runtime"
	"strings"
)

// Program is the version of the programs, and Rulebook that of the rules by which they judge:
// semantic versions. CHANGELOG.md says what has changed.
const (
	Program  = "0.2.0"
	Rulebook = "1.0.0"
)

// Build names a build by what its judgement may depend on.
type Build struct {
	Version  string // of the program
	Revision string // commit; "+changed" if the sources were changed, empty: not known
	Rulebook string
	Platform string // like linux/amd64: its arithmetic may round differently
}

// Of is this build.
func Of() Build {
	t := Tool()
	b := Build{Program, t.Revision, Rulebook, runtime.GOOS + "/" + runtime.GOARCH}
	if t.Revision != "" && t.Dirty {
		b.Revision += "+changed"
	}
	return b
}

// Text describes this build of a program, line by line. schema is the version of the
// certificate's schema.
func Text(program, schema string) string {
	t := Tool()
	revision := t.Revision
	switch {
	case revision == "":
		revision = "not known"
	case t.Dirty:
		revision += " (changed sources)"
	}
	lines := []string{
		fmt.Sprintf("%s %s", program, Program),
		"revision            " + revision,
		"rulebook            " + Rulebook,
		"certificate schema  " + schema,
	}
	if t.K6 != "" {
		lines = append(lines, "k6                  "+t.K6)
	}
	return strings.Join(append(lines, fmt.Sprintf("%s %s/%s", t.Go, runtime.GOOS, runtime.GOARCH)), "\n") + "\n"
}
