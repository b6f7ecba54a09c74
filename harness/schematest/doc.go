// Package schematest generates the JSON Schemas of documents from their structs, for
// tests that compare them with the schema files in the packages of the structs, and
// validates documents against those files.
//
// Input: a struct with the tags of github.com/invopop/jsonschema. Comments of fields
// become descriptions. A field is required unless it has omitempty or the tag
// "optional"; it may be null where it is a pointer without omitempty or has the tag
// "nullable"; "requires=KEY" names a required key of a map.
// Output: a schema of draft 2020-12, without references.
package schematest
