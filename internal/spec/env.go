// SPDX-License-Identifier: Apache-2.0

package spec

import (
	"errors"
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
		if problem, next := envProblem(name); problem != "" {
			return hint.With(errors.New(problem), next)
		}
	}
	return nil
}

// envProblem says why a variable may not have a name; empty: it may. Those of Assay and of k6
// have prefixes of their own.
func envProblem(name string) (problem, next string) {
	switch {
	case !envName.MatchString(name):
		return quote(name) + " is not the name of a variable: want capital letters, digits and _", `write for example "env": {"WAREHOUSES": "4"}`
	case strings.HasPrefix(name, "ASSAY_"), strings.HasPrefix(name, "K6_"):
		return fmt.Sprintf("%s may not be set here: ASSAY_ and K6_ are the prefixes of Assay's and k6's own variables", name), "rename it"
	}
	return "", ""
}
