// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"fmt"

	"assay.dev/assay/internal/document"
)

// Marshal writes a comparison as compare.schema.json describes it.
func Marshal(c Comparison) ([]byte, error) {
	text, err := document.Marshal(c)
	if err != nil {
		return nil, fmt.Errorf("marshal comparison: %w", err)
	}
	return text, nil
}
