// SPDX-License-Identifier: Apache-2.0

// Package version says which build of the program this is, and by which rulebook it judges.
package version

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"assay.dev/assay/certificate"
	"assay.dev/assay/internal/rulebook"
)

// Program is the semantic version of the programs. CHANGELOG.md says what has changed.
const Program = "0.2.0"

// Of is this build, by which a record is judged.
func Of() certificate.JudgedBy {
	t := Tool()
	b := certificate.JudgedBy{Version: Program, Revision: t.Revision, Rulebook: rulebook.Version, Platform: runtime.GOOS + "/" + runtime.GOARCH}
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
		"rulebook            " + rulebook.Version,
		"certificate schema  " + schema,
	}
	if t.K6 != "" {
		lines = append(lines, "k6                  "+t.K6)
	}
	return strings.Join(append(lines, fmt.Sprintf("%s %s/%s", t.Go, runtime.GOOS, runtime.GOARCH)), "\n") + "\n"
}

// Tool describes this build. A build without VCS information counts as dirty.
func Tool() certificate.Tool {
	t := certificate.Tool{Version: "devel", Dirty: true}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return t
	}
	t.Go, t.Version = info.GoVersion, info.Main.Version
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			t.Revision = s.Value
		case "vcs.modified":
			t.Dirty = s.Value != "false"
		}
	}
	for _, m := range info.Deps {
		if m.Path == "go.k6.io/k6/v2" {
			t.K6 = m.Version
		}
	}
	return t
}
