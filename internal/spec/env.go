// SPDX-License-Identifier: Apache-2.0

package spec

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

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

// env reads the variables. Those of Assay and of k6 have prefixes of their own.
func (r *reader) env(n *node) Env {
	if !r.is(n, jsontext.KindBeginObject, exampleOf(n)) {
		return nil
	}
	all := Env{}
	for _, c := range n.children {
		if problem, next := envProblem(c.name); problem != "" {
			r.failKey(c, problem, next)
			continue
		}
		if !r.is(c, jsontext.KindString, "") {
			continue
		}
		if strings.ContainsRune(c.text, 0) {
			r.fail(c, "must not contain a NUL character", "")
			continue
		}
		all[c.name] = c.text
	}
	return all
}

// CheckEnv refuses what a file may not have in "env".
func CheckEnv(e Env) error {
	for _, name := range slices.Sorted(maps.Keys(e)) {
		if problem, next := envProblem(name); problem != "" {
			return hint.With(errors.New(problem), next)
		}
	}
	return nil
}

// envProblem says why a variable may not have a name; empty: it may.
func envProblem(name string) (problem, next string) {
	switch {
	case !envName.MatchString(name):
		return quote(name) + " is not the name of a variable: want capital letters, digits and _", likeThis(example["env"])
	case strings.HasPrefix(name, "ASSAY_"), strings.HasPrefix(name, "K6_"):
		return fmt.Sprintf("%s may not be set here: ASSAY_ and K6_ are the prefixes of Assay's and k6's own variables", name), "rename it"
	}
	return "", ""
}
