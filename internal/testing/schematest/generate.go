package schematest

import (
	"bytes"
	"encoding"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/invopop/jsonschema"
)

// Header is the head of a schema.
type Header struct {
	ID          string
	Title       string
	Description string
	Open        bool // allows properties that the struct does not have
	// Known are the values that a property of the items of a list is known to have, by the
	// list, the property and a dot between them. A document may have others.
	Known map[string][]string
}

// Check compares the schema in a file with the schema of a document's struct, or updates
// the file.
func Check(t *testing.T, file string, document any, h Header, update bool) {
	t.Helper()
	got := generate(t, reflect.TypeOf(document), h)
	if update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s differs from the schema of the struct: update it with -update", file)
	}
}

func generate(t *testing.T, of reflect.Type, h Header) []byte {
	t.Helper()
	g := &generator{jsonschema.Reflector{
		DoNotReference: true, ExpandedStruct: true, Anonymous: true, AllowAdditionalProperties: h.Open, Mapper: textTypes,
	}}
	g.readComments(t, of)
	s := g.reflector.ReflectFromType(of)
	g.complete(of, s)
	for place, values := range h.Known {
		list, name, _ := strings.Cut(place, ".")
		items, ok := s.Properties.Get(list)
		if !ok {
			t.Fatalf("the schema has no list %s", list)
		}
		p, ok := items.Items.Properties.Get(name)
		if !ok {
			t.Fatalf("the items of %s have no property %s", list, name)
		}
		for _, v := range values {
			p.Examples = append(p.Examples, v)
		}
	}
	s.ID, s.Title, s.Description = jsonschema.ID(h.ID), h.Title, h.Description
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(s); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// textTypes maps types that marshal themselves as text.
func textTypes(t reflect.Type) *jsonschema.Schema {
	if t != reflect.TypeFor[time.Time]() && t.Implements(reflect.TypeFor[encoding.TextMarshaler]()) {
		return &jsonschema.Schema{Type: "string"}
	}
	return nil
}

type generator struct{ reflector jsonschema.Reflector }

// readComments reads the comments of the packages of a document's types.
func (g *generator) readComments(t *testing.T, of reflect.Type) {
	t.Helper()
	wd, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	const module = "assay.dev/assay"
	root := wd
	for ; filepath.Dir(root) != root; root = filepath.Dir(root) {
		if _, err := os.Stat(filepath.Join(root, "go.work")); err == nil {
			break
		}
	}
	t.Chdir(root)
	defer t.Chdir(wd)
	for pkg := range packages(of, map[reflect.Type]bool{}, map[string]bool{}) {
		if dir, ours := strings.CutPrefix(pkg, module+"/"); ours {
			if err := g.reflector.AddGoComments(module, dir, jsonschema.WithFullComment()); err != nil {
				t.Fatal(err)
			}
		}
	}
	for name, text := range g.reflector.CommentMap {
		g.reflector.CommentMap[name] = strings.Join(strings.Fields(text), " ")
	}
}

// packages are the packages of a type and of all types in it.
func packages(t reflect.Type, seen map[reflect.Type]bool, found map[string]bool) map[string]bool {
	if seen[t] {
		return found
	}
	seen[t] = true
	found[t.PkgPath()] = true
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
		packages(t.Elem(), seen, found)
	case reflect.Struct:
		for f := range fields(t) {
			packages(f.Type, seen, found)
		}
	}
	return found
}

// fields are the fields with a JSON name, including those of embedded structs.
func fields(t reflect.Type) func(yield func(reflect.StructField) bool) {
	return func(yield func(reflect.StructField) bool) {
		for _, f := range reflect.VisibleFields(t) {
			if f.IsExported() && f.Tag.Get("json") != "" && !yield(f) {
				return
			}
		}
	}
}

// complete adds to a schema what the library does not derive from a type.
func (g *generator) complete(t reflect.Type, s *jsonschema.Schema) {
	for len(s.OneOf) > 0 { // nullable
		s = s.OneOf[0]
	}
	switch t.Kind() {
	case reflect.Pointer:
		g.complete(t.Elem(), s)
	case reflect.Slice, reflect.Array:
		g.complete(t.Elem(), s.Items)
		if t.Elem().Kind() == reflect.Pointer {
			s.Items = nullable(s.Items)
		}
	case reflect.Map:
		g.complete(t.Elem(), s.AdditionalProperties)
	case reflect.Uint, reflect.Uint64:
		if s.Type == "integer" {
			s.Minimum = "0"
		}
	case reflect.Struct:
		if s.Type == "object" {
			g.completeStruct(t, s)
		}
	}
}

func (g *generator) completeStruct(t reflect.Type, s *jsonschema.Schema) {
	for f := range fields(t) {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		p, ok := s.Properties.Get(name)
		if !ok {
			panic(fmt.Sprintf("%s.%s has no property", t, f.Name))
		}
		g.complete(f.Type, p)
		of := f.Type
		if of.Kind() == reflect.Pointer {
			of = of.Elem()
		}
		if p.Description == "" && len(p.OneOf) == 0 {
			p.Description = g.reflector.CommentMap[of.PkgPath()+"."+of.Name()]
		}
		tags := strings.Split(f.Tag.Get("jsonschema"), ",")
		if slices.Contains(tags, "optional") {
			s.Required = slices.DeleteFunc(s.Required, func(required string) bool { return required == name })
		}
		constrain(p, tags)
		if f.Type.Kind() == reflect.Pointer && !strings.Contains(options, "omitempty") {
			s.Properties.Set(name, nullable(p))
		}
	}
}

// constrain applies a field's tags that the library does not know, or not for such a
// field.
func constrain(p *jsonschema.Schema, tags []string) {
	for _, tag := range tags {
		switch key, value, _ := strings.Cut(tag, "="); key {
		case "requires":
			p.Required = append(p.Required, value)
		case "const":
			p.Const = json.RawMessage(value)
		case "minimum": // minimum of the elements of nested arrays
			inner := p
			for inner.Items != nil {
				inner = inner.Items
			}
			inner.Minimum = json.Number(value)
		}
	}
}

// nullable is a schema that allows null too.
func nullable(s *jsonschema.Schema) *jsonschema.Schema {
	if len(s.OneOf) > 0 {
		return s
	}
	outer := &jsonschema.Schema{Description: s.Description, OneOf: []*jsonschema.Schema{s, {Type: "null"}}}
	s.Description = ""
	return outer
}
