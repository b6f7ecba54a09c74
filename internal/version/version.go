// SPDX-License-Identifier: Apache-2.0

// Package version says which build of the program this is, and by which rulebook it judges.
package version

import (
	"fmt"
	"runtime"
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
