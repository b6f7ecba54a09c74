//go:build long

package diagnose

import (
	"testing"

	"assay.dev/assay/internal/testing/property"
)

func TestLongProperties(t *testing.T) {
	property.Many(t, map[string]func(*testing.T){
		"NothingToExplain": TestNothingToExplain,
		"SplitAddsUp":      TestSplitAddsUp,
	})
}

func TestLongConfidenceOfShortWindows(t *testing.T) { confidenceOfShortWindows(t, 60) }
