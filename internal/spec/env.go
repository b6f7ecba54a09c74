// SPDX-License-Identifier: Apache-2.0

package spec

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"assay.dev/assay/internal/hint"
)

// Env are parameters of a script, which it reads from __ENV. They are recorded, and on
// the command lines of workers: no secrets.
type Env map[string]string

// Pairs are the variables as NAME=value, sorted.
func (e Env) Pairs() (all []string) {
	for _, name := range slices.Sorted(maps.Keys(e)) {
		all = append(all, name+"="+e[name])
	}
	return all
}

var envName = regexp.MustCompile(`^[A-Z][A-Z0-9_]{0,127}$`)

// CheckEnv refuses what a file may not have in "env".
func CheckEnv(e Env) error {
	for _, name := range slices.Sorted(maps.Keys(e)) {
		if !envName.MatchString(name) || strings.HasPrefix(name, "ASSAY_") || strings.HasPrefix(name, "K6_") {
			return hint.With(fmt.Errorf("%s may not be set", quote(name)), "name it with capital letters, digits and _, and without the prefixes of Assay and k6, ASSAY_ and K6_")
		}
	}
	return nil
}
