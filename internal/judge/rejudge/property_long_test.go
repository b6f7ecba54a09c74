//go:build long

package rejudge_test

import (
	"testing"

	"assay.dev/assay/internal/testing/property"
)

func TestLongProperties(t *testing.T) {
	property.Many(t, map[string]func(*testing.T){
		"TighteningNeverHelps": TestTighteningNeverHelps,
	})
}
