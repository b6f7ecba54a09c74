package compare

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
)

// Schema is the JSON Schema (draft 2020-12) of a comparison.
//
//go:embed compare.schema.json
var Schema []byte

// Marshal writes a comparison as JSON, indented, with a newline at the end.
func Marshal(c Comparison) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(c); err != nil {
		return nil, fmt.Errorf("marshal comparison: %w", err)
	}
	return b.Bytes(), nil
}
