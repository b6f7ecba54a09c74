//go:build long

package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"assay.dev/assay/internal/servers/mysqld"
)

// TestLongScripts runs, one at a time, the scripts that take long or pin processes to a
// CPU (make long).
func TestLongScripts(t *testing.T) {
	scripts, err := filepath.Glob("testdata/long/*.txtar")
	if err != nil || len(scripts) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	for _, script := range scripts {
		t.Run(filepath.Base(script), func(t *testing.T) {
			testscript.Run(t, params(t, string(mysqld.MariaDB), testscript.Params{Files: []string{script}}))
		})
	}
}

// TestLongScriptsOnMySQL runs further scripts that depend on the database on MySQL too.
func TestLongScriptsOnMySQL(t *testing.T) {
	for _, scripts := range [][]string{ // each with a server of its own
		{"script/scenarios", "long/experiment"}, {"isolated/connections"}, {"isolated/few_connections"},
	} {
		files := make([]string, len(scripts))
		for i, script := range scripts {
			files[i] = "testdata/" + script + ".txtar"
		}
		t.Run(filepath.Base(scripts[0]), func(t *testing.T) {
			testscript.Run(t, params(t, string(mysqld.MySQL), testscript.Params{Files: files}))
		})
	}
}

// TestLongIsolatedScripts runs on MariaDB what TestIsolatedScripts runs on MySQL.
func TestLongIsolatedScripts(t *testing.T) {
	testscript.Run(t, params(t, string(mysqld.MariaDB), testscript.Params{Files: []string{"testdata/isolated/concurrent_runs.txtar"}}))
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
