package report

import (
	"os"
	"testing"

	"assay/harness/judge/internal/property"
)

// afterTests ends what tests have started for all of them.
var afterTests = func() {}

func TestMain(m *testing.M) {
	property.Few()
	code := m.Run()
	afterTests()
	os.Exit(code)
}
