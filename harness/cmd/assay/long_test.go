//go:build long

package main

import (
	"os"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"assay/harness/servers/mysqld"
)

// TestLongScripts runs, one at a time, the scripts that take minutes or pin processes to
// a CPU (make long).
func TestLongScripts(t *testing.T) {
	for _, script := range []string{"match_day", "match_day_service", "overload", "search_starved", "two_writers"} {
		t.Run(script, func(t *testing.T) {
			testscript.Run(t, params(t, string(mysqld.MariaDB), testscript.Params{Files: []string{"testdata/long/" + script + ".txtar"}}))
		})
	}
}

// TestCosignScripts verifies assay's signatures with cosign (make cosign).
func TestCosignScripts(t *testing.T) {
	p := params(t, string(mysqld.MariaDB), testscript.Params{Dir: "testdata/cosign"})
	setup := p.Setup
	p.Setup = func(e *testscript.Env) error {
		program := os.Getenv("ASSAY_TEST_COSIGN")
		if program == "" {
			t.Fatal("ASSAY_TEST_COSIGN does not name a cosign 3 program: run make cosign, or .ci/cosign FOLDER")
		}
		e.Setenv("COSIGN", program)
		return setup(e)
	}
	testscript.Run(t, p)
}
