//go:build live

package main

import (
	"testing"

	"assay.dev/assay/internal/cli"
)

// These commands end at a signal though they read without end.
func TestCommandsThatOnlyRead(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"judge", "verify", "diagnose", "frames", "compare", "model"} {
		if c, _, err := newRoot().Find([]string{name}); err != nil || !cli.OnlyReads(c) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
