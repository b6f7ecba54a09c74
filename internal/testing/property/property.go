package property

import (
	"flag"
	"testing"

	_ "pgregory.net/rapid" // which has the flag
)

const (
	checks = "rapid.checks"
	few    = "15"
	many   = "300"
)

// Few lets the tests draw few cases, unless a flag says how many. TestMain calls it before
// it runs them.
func Few() { set(few) }

// Many repeats tests with many cases.
func Many(t *testing.T, tests map[string]func(*testing.T)) {
	before := flag.Lookup(checks).Value.String()
	set(many)
	t.Cleanup(func() { set(before) })
	for name, test := range tests {
		t.Run(name, test)
	}
}

func set(n string) {
	if err := flag.Set(checks, n); err != nil {
		panic(err) // rapid has no such flag
	}
}
