package certificate

import (
	"flag"
	"testing"

	"assay.dev/assay/internal/rulebook"
	"assay.dev/assay/internal/testing/schematest"
)

var update = flag.Bool("update", false, "update the schema")

func TestSchema(t *testing.T) {
	schematest.Check(t, schemaFile, Certificate{}, schematest.Header{
		ID: SchemaName, Title: "Assay certificate", Open: true,
		Description: `The verdict on a load-test run, with its evidence. Fields are added, never renamed; null is "no data", which is never 0.`,
		Known:       map[string][]string{"rules.id": rulebook.IDs(func(rulebook.Rule) bool { return true })},
	}, *update)
}
