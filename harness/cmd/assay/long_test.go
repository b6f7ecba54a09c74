//go:build long

package main

import (
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"assay/harness/servers/mysqld"
)

// TestLongScripts runs what takes minutes (make long).
func TestLongScripts(t *testing.T) {
	testscript.Run(t, params(t, string(mysqld.MariaDB), testscript.Params{Dir: "testdata/long"}))
}
