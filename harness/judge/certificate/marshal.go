package certificate

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"strconv"
)

// Schema is the JSON Schema (draft 2020-12) of certificate.json.
//
//go:embed certificate.schema.json
var Schema []byte

// Marshal writes certificate.json: fields in the order of the contract, maps
// by key, indented, with a newline at the end. It does not escape HTML: an SLO
// reads p(95)<250.
func Marshal(c Certificate) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(c); err != nil {
		return nil, fmt.Errorf("marshal certificate: %w", err)
	}
	return b.Bytes(), nil
}

// significant is the number of significant digits of measured values: more than any
// measurement is exact to. Rounding to decimal places would make a small value 0.
const significant = 6

func digits(v float64) float64 {
	short, err := strconv.ParseFloat(strconv.FormatFloat(v, 'g', significant, 64), 64)
	if err != nil {
		return v
	}
	return short
}

func round(v *float64) *float64 {
	if v == nil {
		return nil
	}
	short := digits(*v)
	return &short
}

// roundNear rounds a value that is compared with a limit, unless rounding would move
// it to the limit or across it: a reader would see 0.01 violate rate<=0.01.
func roundNear(v *float64, limit float64) *float64 {
	if v == nil {
		return nil
	}
	if short := digits(*v); (short < limit) == (*v < limit) && (short > limit) == (*v > limit) {
		return &short
	}
	return v
}
