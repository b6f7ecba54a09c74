package spec_test

import (
	"bytes"
	"path/filepath"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"assay.dev/assay/internal/testing/schematest"
)

func TestSchemaAcceptsGoodFiles(t *testing.T) {
	schema := schematest.Compile(t, "thresholds.schema.json")
	files, err := filepath.Glob("testdata/good/*.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range append(files, "../../thresholds.json") {
		schematest.Validate(t, schema, read(t, path))
	}
}

// TestSchemaRefusesBadFiles: an editor marks what is structurally bad; what it
// cannot see must still be refused by Decode (TestDecodeBadFiles).
func TestSchemaRefusesBadFiles(t *testing.T) {
	schema := schematest.Compile(t, "thresholds.schema.json")
	for _, c := range badCases(t) {
		checkRefused(t, schema, c)
	}
}

// checkRefused fails unless the schema refuses what it must, and nothing else.
func checkRefused(t *testing.T, schema *jsonschema.Schema, c badCase) {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(c.data))
	if err == nil {
		err = schema.Validate(doc)
	}
	if refused := err != nil; refused != c.schema {
		t.Errorf("%s: refused by the schema: %v, expected %v", c.path, refused, c.schema)
	}
}
