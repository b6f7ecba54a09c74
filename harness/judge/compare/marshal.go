package compare

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// Marshal writes a comparison as compare.schema.json describes it, indented, with
// a newline at the end.
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
