package pi_test

import (
	"flag"
	"testing"

	"assay/harness/observe/collect/pi/pitest"
)

// insights is the API of all tests, which run in parallel.
var insights *pitest.Router

// TestMain allows many parallel tests, because they spend most of their time waiting.
func TestMain(m *testing.M) {
	var err error
	if insights, err = pitest.StartRouter(); err != nil {
		panic(err)
	}
	defer insights.Close()
	if err := flag.Set("test.parallel", "20"); err != nil {
		panic(err)
	}
	m.Run() // os.Exit is called by the test binary
}
