package rejudge_test

import (
	"os"
	"testing"

	"assay/harness/judge/internal/property"
)

func TestMain(m *testing.M) {
	property.Few()
	os.Exit(m.Run())
}
