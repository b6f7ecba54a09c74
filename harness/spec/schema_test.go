package spec_test

import (
	"bytes"
	"path/filepath"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"assay/harness/spec"
)

func compileSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(spec.Schema))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("thresholds.schema.json", doc); err != nil {
		t.Fatal(err)
	}
	schema, err := c.Compile("thresholds.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	if schema.DraftVersion != 2020 {
		t.Errorf("draft %d", schema.DraftVersion)
	}
	return schema
}

func TestSchemaAcceptsGoodFiles(t *testing.T) {
	schema := compileSchema(t)
	files, err := filepath.Glob("testdata/good/*.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range append(files, "../../thresholds.json") {
		doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(read(t, path)))
		if err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(doc); err != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// TestSchemaRefusesBadFiles: an editor marks what is structurally bad; what it
// cannot see must still be refused by Decode (TestDecodeBadFiles).
func TestSchemaRefusesBadFiles(t *testing.T) {
	schema := compileSchema(t)
	for _, c := range badCases(t) {
		doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(c.data))
		if err == nil {
			err = schema.Validate(doc)
		}
		if refused := err != nil; refused != c.schema {
			t.Errorf("%s: refused by the schema: %v, expected %v", c.path, refused, c.schema)
		}
	}
}
