// SPDX-License-Identifier: Apache-2.0

package spec

import (
	"bytes"
	"cmp"
	_ "embed"
	"fmt"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	"golang.org/x/text/language"
	"golang.org/x/text/message"

	"assay.dev/assay/internal/mask"
)

// The JSON Schemas (draft 2020-12) by which files are read, and which editors show to users.
// Beside the standard's keywords they hold the words of errors: "errorMessage" is what is wrong
// with a value (empty: a check in Go says it better), "hint" what to write instead, without
// which the first of "examples" is shown, and "what" names the value.
var (
	// Schema is that of thresholds.json.
	//
	//go:embed thresholds.schema.json
	Schema []byte
	// ExperimentSchema is that of experiment files.
	//
	//go:embed experiment.schema.json
	ExperimentSchema []byte
	// StubSchema is that of stub files.
	//
	//go:embed stub.schema.json
	StubSchema []byte

	thresholdsSchema, experimentSchema, stubSchema = compile(&Schema), compile(&ExperimentSchema), compile(&StubSchema)
)

// schema is a compiled schema, with its text in the order of its keys.
type schema struct {
	text     []byte
	root     *node
	compiled *jsonschema.Schema
}

// compile returns a function that compiles a schema once.
func compile(text *[]byte) func() *schema {
	return sync.OnceValue(func() *schema {
		root, bad := parse("schema", *text, "")
		doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(*text))
		c := jsonschema.NewCompiler()
		c.AssertFormat()
		for name, check := range formats {
			c.RegisterFormat(&jsonschema.Format{Name: name, Validate: func(v any) error {
				if text, ok := v.(string); ok {
					if problem, hint := check(text); problem != "" {
						return &Error{Problem: problem, Next: hint}
					}
				}
				return nil
			}})
		}
		if bad != nil || err != nil || c.AddResource("schema.json", doc) != nil {
			panic(fmt.Sprintf("an embedded schema: %v, %v", bad, err))
		}
		return &schema{*text, root, c.MustCompile("schema.json")}
	})
}

// violation is an error of the validator: a value, and the part of the schema that it violates.
type violation struct {
	n, s *node
	kind jsonschema.ErrorKind
}

// rank orders the violations of one value: with keys that are wrong, the others may follow.
func (v violation) rank() int {
	switch v.kind.(type) {
	case *kind.AdditionalProperties:
		return 0
	case *kind.Required:
		return 1
	case *kind.UniqueItems:
		return 3
	}
	return 2
}

// validate reports what violates the schema. It returns the violations for which only later
// checks have words.
func (r *reader) validate(root *node) (unsaid []violation) {
	var all []violation
	var collect func(*jsonschema.ValidationError)
	collect = func(e *jsonschema.ValidationError) {
		switch e.ErrorKind.(type) {
		case *kind.Schema, *kind.Group, *kind.Reference, *kind.AllOf:
			for _, cause := range e.Causes {
				collect(cause)
			}
			return
		}
		v := violation{root.at(e.InstanceLocation...), r.schema.at(e.SchemaURL), e.ErrorKind}
		switch k := v.kind.(type) {
		case *kind.UniqueItems:
			v.n = v.n.children[max(k.Duplicates[0], k.Duplicates[1])]
		case *kind.DependentRequired:
			v.n = v.n.get(k.Prop)
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
	n, s := v.n, v.s
	words := s.get("errorMessage")
	switch k := v.kind.(type) {
	case *kind.AdditionalProperties:
		r.unknownKeys(n, s, k.Properties)
		return true
	case *kind.Required:
		if words != nil && words.text == "" {
			return false
		}
		r.missing(n, k.Missing)
		return true
	}
	if n.bad || n.kind == jsontext.KindBeginObject && len(n.unresolved) > 0 {
		return true
	}
	hint := r.hint(n, s)
	switch k := v.kind.(type) {
	case *kind.Type:
		if n.kind == jsontext.KindNumber && k.Want[0] == "integer" {
			r.fail(n, outOfRange(n, s), s.get("hint").string())
			return true
		}
		for i, want := range k.Want {
			k.Want[i] = typeWords[want]
		}
		r.fail(n, fmt.Sprintf("want %s, not %s", strings.Join(k.Want, " or "), kindWords[n.kind]), r.hint(n, nil))
	case *kind.Minimum, *kind.Maximum, *kind.ExclusiveMinimum:
		r.fail(n, outOfRange(n, s), s.get("hint").string())
	case *kind.UniqueItems:
		r.fail(n, "duplicate "+r.what(n)+" "+quote(n.text), "")
	case *kind.DependentRequired:
		if !n.parent.mayHave(k.Missing[0]) {
			r.fail(n, fmt.Sprintf("%q requires %q", k.Prop, k.Missing[0]), "add "+r.example(n.parent, k.Missing[0]))
		}
	case *kind.Not, *kind.FalseSchema:
		if words == nil {
			return false
		}
		if !n.parent.refused { // of several keys, one is enough
			n.parent.refused = true
			r.failKey(n, strings.ReplaceAll(words.text, "KEY", quote(n.name)), s.get("hint").string())
		}
	case *kind.PropertyNames, *kind.Const:
		return false
	default:
		switch refused, _ := v.kind.(*kind.Format); {
		case n.kind == jsontext.KindString && strings.TrimSpace(n.text) == "" && (words == nil || words.text != ""):
			r.fail(n, "must not be empty", r.hint(n, nil))
		case refused != nil:
			err := refused.Err.(*Error) //nolint:errorlint,forcetypeassert // see compile
			r.fail(n, err.Problem, cmp.Or(err.Next, hint))
		case words == nil || words.text == "":
			if k, ok := v.kind.(*kind.Enum); ok && words == nil {
				valid := make([]string, len(k.Want))
				for i, word := range k.Want {
					valid[i] = fmt.Sprint(word)
				}
				r.fail(n, unknown(r.what(n), n.text, valid), "known: "+strings.Join(valid, ", "))
				return true
			}
			return false
		case n.kind == jsontext.KindString:
			r.fail(n, quote(n.text)+" "+words.text, hint)
		default:
			r.fail(n, words.text, hint)
		}
	}
	return true
}

// unexplained reports what the schema refuses and no check has words for.
func (r *reader) unexplained(v violation) {
	r.fail(v.n, oneLine(v.kind.LocalizedString(message.NewPrinter(language.English))), "")
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
// near valid one as missing keys, each of these is assumed to be a misspelt one.
func (r *reader) missing(n *node, required []string) {
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
		r.add(n.offset, n.place(), fmt.Sprintf("missing key %q", key), "add "+r.example(n, key))
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

// example is the first example of a value; empty: there is none.
func (s *schema) example(all []*node) string {
	examples := firstOf(all, "examples")
	if examples == nil {
		return ""
	}
	return strings.ReplaceAll(string(rawText(examples.children[0], s.text)), "{}", "{...}")
}

// at is the part of the schema at a URL, whose fragment is a JSON pointer.
func (s *schema) at(location string) *node {
	n := s.root
	_, pointer, _ := strings.Cut(location, "#")
	for _, step := range strings.Split(pointer, "/")[1:] {
		if plain, err := url.PathUnescape(step); err == nil {
			step = plain
		}
		n = n.at(strings.NewReplacer("~1", "/", "~0", "~").Replace(step))
	}
	return n
}

// of are the parts of the schema that may describe a value.
func (s *schema) of(n *node) []*node {
	if n.parent == nil {
		return s.parts(s.root)
	}
	return s.below(s.of(n.parent), n.parent.kind, n.name)
}

// below are the parts that describe an element of a list, or the value of an object's key.
func (s *schema) below(in []*node, container jsontext.Kind, key string) (all []*node) {
	for _, p := range in {
		if container == jsontext.KindBeginArray {
			all = append(all, s.parts(p.get("items"))...)
		} else if named := p.get("properties").get(key); named != nil {
			all = append(all, s.parts(named)...)
		} else {
			all = append(all, s.parts(p.get("additionalProperties"))...)
		}
	}
	return all
}

// parts are a part of the schema and those that it refers to.
func (s *schema) parts(p *node) []*node {
	if not := p.get("not"); p == nil || not != nil && len(not.children) == 0 {
		return nil // nothing may be written there
	}
	all := []*node{p}
	if ref := p.get("$ref"); ref != nil {
		all = append(all, s.parts(s.at(ref.text))...)
	}
	return slices.Concat(all, s.parts(p.get("then")), s.parts(p.get("else")))
}

// firstOf is the first value of a keyword.
func firstOf(all []*node, keyword string) *node {
	for _, p := range all {
		if value := p.get(keyword); value != nil {
			return value
		}
	}
	return nil
}
