//go:build long

package listen_test

import (
	"testing"

	"assay.dev/assay/internal/testing/budget"
)

// Floods of the size that the limits are made for.
func TestLongFloods(t *testing.T) {
	budget.CPUs(t, 1.5)
	t.Run("wrong tokens", func(t *testing.T) { testWrongTokensBesideAClient(t, 2000) })
	t.Run("connections", func(t *testing.T) { testConnectionsHeldBesideAClient(t, 10_000) })
	t.Run("workers", func(t *testing.T) { testWorkersBehindOneAddress(t, 1000) })
}
