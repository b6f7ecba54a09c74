package schematest

import (
	"bytes"
	"os"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Compile reads the schema in a file.
func Compile(t testing.TB, file string) *jsonschema.Schema {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	if err := c.AddResource(file, parse(t, text)); err != nil {
		t.Fatal(err)
	}
	schema, err := c.Compile(file)
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

// Validate fails the test if a document does not conform to a schema.
func Validate(t testing.TB, schema *jsonschema.Schema, document []byte) {
	t.Helper()
	if err := schema.Validate(parse(t, document)); err != nil {
		t.Errorf("%v\n%s", err, document)
	}
}

func parse(t testing.TB, text []byte) any {
	t.Helper()
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return value
}
