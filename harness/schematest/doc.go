// Package schematest generates the JSON Schemas of documents from their structs,
// for the tests that compare them with the files that are kept beside the code, and
// holds documents to those files.
//
// Input: a struct, whose fields' comments become descriptions and whose tags are
// those of github.com/invopop/jsonschema. A field is required unless it has
// omitempty or the tag "optional"; a pointer without omitempty may be null, as may
// what has the tag "nullable"; "requires=KEY" names a key that a map must have.
// Output: a schema of draft 2020-12, without references.
package schematest
