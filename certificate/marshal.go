// SPDX-License-Identifier: Apache-2.0

package certificate

import (
	_ "embed"
	"encoding/json"
	"fmt"

	"assay.dev/assay/internal/document"
)

// Schema is the JSON Schema (draft 2020-12) of certificate.json.
//
//go:embed certificate.schema.json
var Schema []byte

// Marshal writes certificate.json.
func Marshal(c Certificate) ([]byte, error) {
	text, err := document.Marshal(c)
	if err != nil {
		return nil, fmt.Errorf("marshal certificate: %w", err)
	}
	return text, nil
}

// Parse reads certificate.json, or a part of it that Validate would refuse.
func Parse(data []byte) (c Certificate, err error) {
	if err = json.Unmarshal(data, &c); err != nil {
		err = fmt.Errorf("parse certificate: %w", err)
	}
	return c, err
}
