package property

import (
	"flag"
	"strconv"
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

// Share draws a part of the usual number of cases, for each of a test's many subtests.
func Share(t *testing.T, part int) {
	t.Helper()
	before := flag.Lookup(checks).Value.String()
	n, err := strconv.Atoi(before)
	if err != nil {
		t.Fatal(err)
	}
	set(strconv.Itoa(max(1, n/part)))
	t.Cleanup(func() { set(before) })
}

func set(n string) {
	if err := flag.Set(checks, n); err != nil {
		panic(err) // rapid has no such flag
	}
}
