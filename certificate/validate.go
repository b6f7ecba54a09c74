// SPDX-License-Identifier: Apache-2.0

package certificate

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"golang.org/x/text/language"
	"golang.org/x/text/message"

	"assay.dev/assay/internal/foreign"
	"assay.dev/assay/internal/judge/certificate/signature"
)

const schemaFile = "certificate.schema.json"

// Validate checks a certificate.json against the schema. Its error names the first
// place that violates the schema.
func Validate(data []byte) error {
	schema, err := compiledSchema()
	if err != nil {
		return err
	}
	if err := foreign.CheckJSON(data, signature.MaxValues); err != nil {
		return fmt.Errorf("parse certificate: %w", err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		return fmt.Errorf("parse certificate: %w", err)
	}
	var violation *jsonschema.ValidationError
	if err := schema.Validate(doc); errors.As(err, &violation) {
		for len(violation.Causes) > 0 { // the innermost cause names the place
			violation = violation.Causes[0]
		}
		return fmt.Errorf("/%s: %s", strings.Join(violation.InstanceLocation, "/"),
			violation.ErrorKind.LocalizedString(message.NewPrinter(language.English)))
	} else if err != nil {
		return fmt.Errorf("validate certificate: %w", err)
	}
	return nil
}

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
