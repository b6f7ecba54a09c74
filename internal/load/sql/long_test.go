//go:build long

package sql_test

import (
	"testing"

	"assay.dev/assay/internal/testing/budget"
	"assay.dev/assay/internal/testing/mysqldtest"
)

// TestLongStaleReads is TestStaleReads with more reads, on each flavour.
func TestLongStaleReads(t *testing.T) {
	t.Parallel()
	mysqldtest.EachFlavour(t, func(t *testing.T, flavour string) {
		budget.CPUs(t, 1)
		testStaleReads(t, flavour, 30)
	})
}
