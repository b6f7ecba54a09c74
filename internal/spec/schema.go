// SPDX-License-Identifier: Apache-2.0

package spec

import (
	"bytes"
	_ "embed"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/santhosh-tekuri/jsonschema/v6"
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
