package verdict

import (
	"os"
	"testing"

	"assay.dev/assay/internal/testing/memorytest"
	"assay.dev/assay/internal/testing/property"
)

func TestMain(m *testing.M) {
	property.Few()
	memorytest.Use()
	os.Exit(m.Run())
}
