// SPDX-License-Identifier: Apache-2.0

package certificate

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/go-json-experiment/json"
	jsonv1 "github.com/go-json-experiment/json/v1"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"golang.org/x/text/language"
	"golang.org/x/text/message"

	"assay.dev/assay/internal/document"
	"assay.dev/assay/internal/foreign"
	"assay.dev/assay/internal/signature"
)

// Schema is the JSON Schema (draft 2020-12) of certificate.json.
//
//go:embed certificate.schema.json
var Schema []byte

const schemaFile = "certificate.schema.json"

var compiledSchema = sync.OnceValues(func() (*jsonschema.Schema, error) {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(Schema))
	if err != nil {
		return nil, fmt.Errorf("read certificate schema: %w", err)
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	if err := c.AddResource(schemaFile, doc); err != nil {
		return nil, fmt.Errorf("read certificate schema: %w", err)
	}
	return c.Compile(schemaFile)
})

// Parse reads a certificate.json, of which it checks nothing but that it conforms to the
// schema. Its error names the first place that does not.
func Parse(data []byte) (Certificate, error) {
	schema, err := compiledSchema()
	if err != nil {
		return Certificate{}, err
	}
	err = foreign.CheckJSON(data, signature.MaxValues)
	var doc any
	if err == nil {
		doc, err = jsonschema.UnmarshalJSON(bytes.NewReader(data))
	}
	if err != nil {
		return Certificate{}, fmt.Errorf("parse certificate: %w", err)
	}
	var violation *jsonschema.ValidationError
	if err := schema.Validate(doc); errors.As(err, &violation) {
		for len(violation.Causes) > 0 { // the innermost cause names the place
			violation = violation.Causes[0]
		}
		return Certificate{}, fmt.Errorf("/%s: %s", strings.Join(violation.InstanceLocation, "/"),
			violation.ErrorKind.LocalizedString(message.NewPrinter(language.English)))
	} else if err != nil {
		return Certificate{}, fmt.Errorf("validate certificate: %w", err)
	}
	var c Certificate
	if err := json.Unmarshal(data, &c, jsonv1.DefaultOptionsV1(), json.MatchCaseInsensitiveNames(false)); err != nil {
		return Certificate{}, fmt.Errorf("parse certificate: %w", err)
	}
	return c, nil
}

// Marshal writes certificate.json, the same bytes for the same certificate.
func Marshal(c Certificate) ([]byte, error) {
	text, err := document.Marshal(c)
	if err != nil {
		return nil, fmt.Errorf("marshal certificate: %w", err)
	}
	return text, nil
}
