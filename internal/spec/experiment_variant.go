// SPDX-License-Identifier: Apache-2.0

package spec

import (
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

func (r *reader) variants(n *node) (all []Variant) {
	names := map[string]bool{}
	for _, c := range r.list(n) {
		v := r.variant(c)
		if v.Name != "" && names[v.Name] {
			r.fail(c.get("name"), fmt.Sprintf("duplicate variant %s", quote(v.Name)), "")
		}
		names[v.Name] = true
		all = append(all, v)
	}
	if n != nil && !n.bad && (len(all) < 2 || len(all) > MaxVariants) {
		r.fail(n, fmt.Sprintf("want 2 to %d variants, the control first", MaxVariants), "write for example "+example["variants"])
	}
	return all
}

func (r *reader) variant(n *node) (v Variant) {
	if !r.object(n, []string{"name"}, []string{"description", "global", "sql", "stack", "service", "command", "binlog_readers"}) {
		return v
	}
	name := n.get("name")
	var ok bool
	if v.Name, ok = r.text(name); ok && !profileName.MatchString(v.Name) {
		r.fail(name, badName("variant", v.Name), "")
	}
	if d := n.get("description"); d != nil {
		v.Description = r.line(d)
	}
	if g := n.get("global"); g != nil {
		v.Global = r.settings(g)
	}
	if s := n.get("sql"); r.object(s, []string{"apply", "revert"}, nil) {
		v.SQL = &Steps{Apply: r.words(s.get("apply"), "statement"), Revert: r.words(s.get("revert"), "statement")}
	}
	if s := n.get("stack"); r.object(s, []string{"database"}, nil) {
		v.Database = r.flags(s.get("database"))
	}
	if s := n.get("service"); s != nil {
		v.Service = r.flags(s)
	}
	if c := n.get("command"); r.object(c, []string{"apply", "revert"}, nil) {
		v.Command = &Commands{Apply: r.words(c.get("apply"), "word"), Revert: r.words(c.get("revert"), "word")}
	}
	if b := n.get("binlog_readers"); b != nil {
		v.Readers = r.integer(b, 0, MaxReaders)
	}
	return v
}

// settings reads an object of variables; a value is a text or a number.
func (r *reader) settings(n *node) (all []Setting) {
	if !r.is(n, jsontext.KindBeginObject, example["global"]) {
		return nil
	}
	for _, c := range n.children {
		switch {
		case !variableName.MatchString(c.name):
			r.failKey(c, fmt.Sprintf("%s is not the name of a variable", quote(c.name)), "write for example "+example["global"])
		case c.kind != jsontext.KindString && c.kind != jsontext.KindNumber:
			r.fail(c, fmt.Sprintf("want a string or a number, not %s", kindWords[c.kind]), "write for example "+example["global"])
		case len(c.text) > maxValue || strings.ContainsFunc(c.text, func(x rune) bool { return x < ' ' }):
			r.fail(c, fmt.Sprintf("must be one line of at most %d bytes", maxValue), "")
		}
		all = append(all, Setting{c.name, c.text})
	}
	if len(n.children) == 0 {
		r.fail(n, "want at least one variable", "write for example "+example["global"])
	}
	return all
}

// maxValue bounds a variable's value, which is kept in a journal.
const maxValue = 4096

// words reads a list of non-blank texts.
func (r *reader) words(n *node, what string) (all []string) {
	for _, c := range r.list(n) {
		word, _ := r.text(c)
		all = append(all, word)
	}
	if n != nil && !n.bad && (len(all) == 0 || len(all) > maxStatements) {
		r.fail(n, fmt.Sprintf("want 1 to %d %ss", maxStatements, what), "")
	}
	return all
}

// flags reads a list of options and their values. Whether the program knows them
// is checked by the program.
func (r *reader) flags(n *node) []string {
	all := r.words(n, "flag")
	if len(all) > 0 && all[0] != "" && !strings.HasPrefix(all[0], "--") {
		r.fail(n.children[0], fmt.Sprintf("%s is not a flag", quote(all[0])), `flags begin with "--"`)
	}
	if slices.Contains(all, "--") {
		r.fail(n, `"--" is not a flag`, "")
	}
	return all
}
