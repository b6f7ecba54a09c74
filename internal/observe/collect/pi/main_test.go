//go:build live

package pi_test

import (
	"testing"

	"assay.dev/assay/internal/testing/pitest"
)

// insights is the API of all tests, which run in parallel.
var insights *pitest.Router

// TestMain starts the API before any test, as all of them share its environment.
func TestMain(m *testing.M) {
	var err error
	if insights, err = pitest.StartRouter(); err != nil {
		panic(err)
	}
	defer insights.Close()
	m.Run() // os.Exit is called by the test binary
}
