package rejudge_test

import (
	"os"
	"testing"

	"assay.dev/assay/internal/testing/property"
)

func TestMain(m *testing.M) {
	property.Few()
	os.Exit(m.Run())
}
