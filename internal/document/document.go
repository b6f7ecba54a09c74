// SPDX-License-Identifier: Apache-2.0

// Package document writes the JSON documents of results: certificate, comparison,
// experiment, search and audit.
//
// Input: a struct with JSON tags, and measured values. Output: its text, and the values
// with the precision that all documents have.
package document

import (
	"bytes"
	"encoding/json"
	"strconv"
)

// Marshal writes a document: fields in the order of the struct, maps by key, indented,
// with a newline at the end. It does not escape HTML: an SLO reads p(95)<250.
func Marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// significant is the number of significant digits of measured values: more than any
// measurement is exact to. Rounding to decimal places would make a small value 0.
const significant = 6

// Round rounds a measured value.
func Round(v float64) float64 {
	short, err := strconv.ParseFloat(strconv.FormatFloat(v, 'g', significant, 64), 64)
	if err != nil {
		return v
	}
	return short
}
