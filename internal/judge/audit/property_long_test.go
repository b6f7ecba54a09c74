//go:build long

package audit

import (
	"testing"

	"assay.dev/assay/internal/testing/property"
)

func TestLongProperties(t *testing.T) {
	property.Many(t, map[string]func(*testing.T){
		"OneFlippedByte": TestOneFlippedByte,
	})
}
