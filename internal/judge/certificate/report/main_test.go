package report

import (
	"os"
	"testing"

	"assay.dev/assay/internal/testing/property"
)

// afterTests ends what tests have started for all of them.
var afterTests = func() {}

func TestMain(m *testing.M) {
	property.Few()
	code := m.Run()
	afterTests()
	os.Exit(code)
}
