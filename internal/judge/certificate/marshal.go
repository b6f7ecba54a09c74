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

func round(v *float64) *float64 {
	if v == nil {
		return nil
	}
	short := document.Round(*v)
	return &short
}

// roundNear rounds a value that is compared with a limit, unless rounding would move
// it to the limit or across it: a reader would see 0.01 violate rate<=0.01.
func roundNear(v *float64, limit float64) *float64 {
	if v == nil {
		return nil
	}
	if short := document.Round(*v); (short < limit) == (*v < limit) && (short > limit) == (*v > limit) {
		return &short
	}
	return v
}
