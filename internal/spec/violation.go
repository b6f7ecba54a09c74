// SPDX-License-Identifier: Apache-2.0

package spec

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"

	"assay.dev/assay/internal/mask"
)

// violation is an error of the validator: a value, and the part of the schema that it violates.
type violation struct {
	n, s *node
	kind jsonschema.ErrorKind
}

// rank orders the violations of one value: with keys that are wrong, the others may follow.
func (v violation) rank() int {
	switch v.kind.(type) {
	case *kind.PropertyNames:
		return 0
	case *kind.AdditionalProperties:
		return 1
	case *kind.Required:
		return 2
	case *kind.UniqueItems:
		return 4
	}
	return 3
}

// validate reports what violates the schema. It returns the violations for which only later
// checks have words.
func (r *reader) validate(root *node) (unsaid []violation) {
	var all []violation
	parts := map[string]*node{} // of the schema, by URL: many values violate few of them
	var collect func(*jsonschema.ValidationError)
	collect = func(e *jsonschema.ValidationError) {
		switch e.ErrorKind.(type) {
		case *kind.Schema, *kind.Group, *kind.Reference, *kind.AllOf:
			for _, cause := range e.Causes {
				// Errors about property names have no location of their own: they are in an allOf for that.
				if cause.InstanceLocation == nil {
					cause.InstanceLocation = e.InstanceLocation
				}
				collect(cause)
			}
			return
		}
		part, known := parts[e.SchemaURL]
		if !known {
			part = r.schema.at(e.SchemaURL)
			parts[e.SchemaURL] = part
		}
		v := violation{root.at(e.InstanceLocation...), part, e.ErrorKind}
		switch k := v.kind.(type) {
		case *kind.UniqueItems:
			v.n = v.n.children[max(k.Duplicates[0], k.Duplicates[1])]
		case *kind.DependentRequired:
			v.n = v.n.get(k.Prop)
		case *kind.PropertyNames:
			v.n = cmp.Or(v.n.get(k.Property), v.n)
		}
		all = append(all, v)
	}
	if err, ok := r.schema.compiled.Validate(r.value(root)).(*jsonschema.ValidationError); ok { //nolint:errorlint // the library's documented type
		collect(err)
	}
	slices.SortFunc(all, func(a, b violation) int {
		return cmp.Or(cmp.Compare(a.n.offset, b.n.offset), cmp.Compare(a.rank(), b.rank()), cmp.Compare(a.s.offset, b.s.offset))
	})
	for _, v := range all {
		if !r.say(v) {
			unsaid = append(unsaid, v)
		}
	}
	return unsaid
}

// value is a value as the validator takes it. Numbers that no float64 holds are reported.
func (r *reader) value(n *node) any {
	switch {
	case r.raw != "" && n.name == r.raw:
		return nil
	case n.kind == jsontext.KindBeginObject:
		all := make(map[string]any, len(n.children))
		for _, c := range n.children {
			all[c.name] = r.value(c)
		}
		return all
	case n.kind == jsontext.KindBeginArray:
		all := make([]any, len(n.children))
		for i, c := range n.children {
			all[i] = r.value(c)
		}
		return all
	case n.kind == jsontext.KindString:
		return n.text
	case n.kind == jsontext.KindNumber:
		v, err := strconv.ParseFloat(n.text, 64)
		if err != nil {
			r.fail(n, fmt.Sprintf("number %s is out of range", mask.Cut(n.text, quoteLimit)), "")
			return math.MaxFloat64
		}
		return v
	case n.kind == jsontext.KindNull:
		return nil
	}
	return n.kind == jsontext.KindTrue
}

var typeWords = map[string]string{
	"null": "null", "boolean": "true or false", "string": "a string", "number": "a number", "integer": "a number",
	"object": "an object", "array": "a list",
}

// say reports a violation; false if there are no words for it. One mistake of a value is
// reported once.
func (r *reader) say(v violation) bool {
	n, s, words := v.n, v.s, v.s.get("errorMessage")
	unsaid := words != nil && words.text == ""
	switch k := v.kind.(type) {
	case *kind.PropertyNames:
		if words != nil {
			r.failKey(n, strings.ReplaceAll(words.text, "KEY", quote(n.name)), s.get("hint").string())
		}
		return words != nil
	case *kind.AdditionalProperties:
		r.unknownKeys(n, s, k.Properties)
		return true
	case *kind.Required:
		problem := ""
		if s.get("properties") == nil { // the keys follow from others
			problem = words.string()
		}
		r.missing(n, k.Missing, problem)
		return true
	}
	if n.bad || n.kind == jsontext.KindBeginObject && len(n.unresolved) > 0 {
		return true
	}
	switch k := v.kind.(type) {
	case *kind.Type:
		if n.kind == jsontext.KindNumber && k.Want[0] == "integer" {
			r.fail(n, outOfRange(n, s), s.get("hint").string())
			break
		}
		for i, want := range k.Want {
			k.Want[i] = typeWords[want]
		}
		got := typeWords[k.Got]
		if k.Got == "boolean" {
			got = strconv.FormatBool(n.kind == jsontext.KindTrue)
		}
		r.fail(n, fmt.Sprintf("want %s, not %s", strings.Join(k.Want, " or "), got), r.hint(n, nil))
	case *kind.Minimum, *kind.Maximum, *kind.ExclusiveMinimum:
		r.fail(n, outOfRange(n, s), s.get("hint").string())
	case *kind.UniqueItems:
		r.fail(n, "duplicate "+r.what(n)+" "+quote(n.text), "")
	case *kind.DependentRequired:
		if len(n.parent.unresolved) == 0 && !n.parent.bad {
			r.fail(n, fmt.Sprintf("%q requires %q", k.Prop, k.Missing[0]), "add "+r.example(n.parent, k.Missing[0]))
		}
	case *kind.Const:
		return false
	case *kind.Format:
		if problem := k.Err.(*Error); !r.blank(n) { //nolint:errorlint,forcetypeassert // see compile
			r.fail(n, problem.Problem, cmp.Or(problem.Next, r.hint(n, s)))
		}
	default:
		enum, _ := k.(*kind.Enum)
		_, not := k.(*kind.Not)
		switch {
		case unsaid:
			return false
		case not && len(s.get("not").children) == 0: // a key that is refused: of several, one is enough
			if !n.parent.refused {
				n.parent.refused = true
				r.failKey(n, strings.ReplaceAll(words.text, "KEY", quote(n.name)), s.get("hint").string())
			}
		case r.blank(n):
		case words != nil && n.kind == jsontext.KindString:
			r.fail(n, quote(n.text)+" "+words.text, r.hint(n, s))
		case words != nil:
			r.fail(n, words.text, r.hint(n, s))
		case enum != nil:
			valid := strings.Split(strings.Trim(fmt.Sprintf("%q", enum.Want), `["]`), `" "`)
			r.fail(n, unknown(r.what(n), n.text, valid), "known: "+strings.Join(valid, ", "))
		default:
			return false
		}
	}
	return true
}

// blank reports a text that is empty.
func (r *reader) blank(n *node) bool {
	blank := n.kind == jsontext.KindString && strings.TrimSpace(n.text) == ""
	if blank {
		r.fail(n, "must not be empty", r.hint(n, nil))
	}
	return blank
}

// outOfRange is the problem of a number.
func outOfRange(n, s *node) string {
	text := mask.Cut(n.text, quoteLimit)
	least, above, most := s.get("minimum").string(), s.get("exclusiveMinimum").string(), s.get("maximum").string()
	switch {
	case s.get("errorMessage") != nil:
		return text + " " + s.get("errorMessage").text
	case s.get("type").string() == "integer":
		return fmt.Sprintf("%s is not a whole number from %s to %s", text, least, most)
	case above != "":
		return fmt.Sprintf("%s is out of range: want above %s and at most %s", text, above, most)
	}
	return fmt.Sprintf("%s is out of range: want %s to %s", text, least, most)
}

// unknownKeys reports keys that an object may not have.
func (r *reader) unknownKeys(n, s *node, keys []string) {
	var known []string
	for _, c := range slices.Concat(s.get("required").all(), s.get("properties").all()) {
		if name := cmp.Or(c.name, c.text); !slices.Contains(known, name) {
			known = append(known, name)
		}
	}
	for _, c := range n.children {
		if slices.Contains(keys, c.name) {
			near, _ := nearest(c.name, known)
			n.unresolved = append(n.unresolved, near)
			r.failKey(c, unknown("key", c.name, known), "known keys: "+strings.Join(known, ", "))
		}
	}
}

// missing reports the required keys that an object lacks, except those that are
// misspelt, which are already reported. If there are as many unknown keys without a
// near valid one as missing keys, each of these is assumed to be a misspelt one. problem says why
// they are required; empty: they always are.
func (r *reader) missing(n *node, required []string, problem string) {
	missing := slices.DeleteFunc(slices.Clone(required), func(key string) bool { return slices.Contains(n.unresolved, key) })
	unmatched := 0
	for _, near := range n.unresolved {
		if near == "" {
			unmatched++
		}
	}
	n.unresolved = append(n.unresolved, missing...)
	if len(missing) <= unmatched {
		return
	}
	for _, key := range missing {
		r.add(n.offset, n.place(), cmp.Or(problem, fmt.Sprintf("missing key %q", key)), "add "+r.example(n, key))
	}
}

// what names a value: the word of the schema, or its key.
func (r *reader) what(n *node) string {
	if word := firstOf(r.schema.of(n), "what"); word != nil {
		return word.text
	}
	return n.name
}

// hint is what to write instead of a value that violates a part of the schema.
func (r *reader) hint(n, s *node) string {
	if hint := s.get("hint"); hint != nil {
		return hint.text
	}
	for _, p := range r.schema.of(n) {
		if hint := p.get("hint").string(); hint != "" {
			return hint
		}
	}
	if n.parent == nil || n.parent.kind == jsontext.KindBeginArray {
		return likeThis(r.schema.example(r.schema.of(n)))
	}
	return likeThis(r.example(n.parent, n.name))
}

// example is a key of an object with an example of its value; empty: there is none.
func (r *reader) example(n *node, key string) string {
	text := r.schema.example(r.schema.below(r.schema.of(n), n.kind, key))
	if text == "" {
		return ""
	}
	return fmt.Sprintf("%q: %s", key, text)
}
