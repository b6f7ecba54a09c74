//go:build long

package tpcc_test

import (
	"testing"

	"assay.dev/assay/internal/testing/budget"
	"assay.dev/assay/internal/testing/mysqldtest"
)

// TestLongConditions is TestConditions with more transactions, on each flavour.
func TestLongConditions(t *testing.T) {
	t.Parallel()
	mysqldtest.EachFlavour(t, func(t *testing.T, flavour string) {
		budget.CPUs(t, 1)
		testConditions(t, flavour, 250)
	})
}
