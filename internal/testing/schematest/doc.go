// Package schematest generates the JSON Schema of a document from its struct, for tests
// that compare it with the schema file in the struct's package, and validates documents
// against such files.
//
// Input: a struct with the tags of github.com/invopop/jsonschema. Comments of fields
// become descriptions. A field is required unless it has omitempty or the tag
// "optional"; it may be null if it is a pointer without omitempty or has the tag
// "nullable"; "requires=KEY" names a required key of a map.
// Output: a schema of draft 2020-12, without references.
package schematest
