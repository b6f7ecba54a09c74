package spec

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
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
		switch {
		case !envName.MatchString(c.name):
			r.failKey(c, quote(c.name)+" is not the name of a variable: want capital letters, digits and _", likeThis(exampleOf(n)))
			continue
		case strings.HasPrefix(c.name, "ASSAY_"), strings.HasPrefix(c.name, "K6_"):
			r.failKey(c, fmt.Sprintf("%s may not be set here: ASSAY_ and K6_ are the prefixes of Assay's and k6's own variables", c.name), "rename it")
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
