package fleet_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// Files that call sleep() of k6 are found, in the script and in what it imports; a sleep of
// their own, an import that is not used, and think() are not.
func TestSleeps(t *testing.T) {
	dir := t.TempDir()
	for name, source := range map[string]string{
		"main.js":       "import { check, sleep } from 'k6';\nimport { f } from './lib/waits.js';\nimport './lib/own.js';\nimport './gone.js';\nexport default function () { f(); }",
		"lib/waits.js":  "import {\n  group,\n  sleep,\n} from \"k6\";\nimport { think } from './think.js';\nexport function f() { sleep(1); }",
		"lib/own.js":    "function sleep(s) {}\nsleep(1);",
		"lib/think.js":  "import { think } from 'k6/x/assay/journey';\nexport { think };",
		"lib/unused.js": "import { sleep } from 'k6';\nsleep(1);",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(source), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got := mainAt(filepath.Join(dir, "main.js")).Thinks(); len(got) > 0 {
		t.Errorf("%q think, though none calls it", got)
	}
	journey := filepath.Join(dir, "journey.js")
	if err := os.WriteFile(journey, []byte("import { thinkBetween } from './lib/think.js';\nexport default function () { thinkBetween(r, 1, 2); }"), 0o644); err != nil {
		t.Fatal(err)
	}
	if got := mainAt(journey).Thinks(); !slices.Equal(got, []string{journey}) {
		t.Errorf("%q think, want %s", got, journey)
	}
	if got, want := mainAt(filepath.Join(dir, "main.js")).Sleeps(), []string{filepath.Join(dir, "lib/waits.js")}; !slices.Equal(got, want) {
		t.Errorf("%q sleep, want %q", got, want)
	}
}
