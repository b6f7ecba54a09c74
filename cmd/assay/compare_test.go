//go:build live

package main

import (
	"strconv"
	"testing"

	"assay.dev/assay/internal/cli"

	"github.com/rogpeppe/go-internal/testscript"

	"assay.dev/assay/internal/testing/comparetest"
)

// synthetic-runs DIR ORDER FACTOR writes synthetic records to DIR/A and DIR/B, of runs
// made in an order like ABBA; latencies of B are longer by the factor.
func syntheticRuns(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: synthetic-runs DIR ORDER FACTOR")
	}
	factor, err := strconv.ParseFloat(args[2], 64)
	ts.Check(err)
	ts.Check(comparetest.Write(ts.MkAbs(args[0]), args[1], factor))
}

func TestPercentOf(t *testing.T) {
	for text, want := range map[string]float64{"3%": 0.03, " 0.5 % ": 0.005, "100%": 1} {
		if got, err := percent(t, text); err != nil || got != want {
			t.Errorf("%q is %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "%", "3", "0.03", "0%", "-3%", "NaN%", "Inf%", "101%", "three%", "3%%"} {
		if got, err := percent(t, text); err == nil {
			t.Errorf("%q is %v", text, got)
		}
	}
}

func percent(t *testing.T, text string) (float64, error) {
	t.Helper()
	c := newCompare()
	if err := c.Flags().Set("tolerance", text); err != nil {
		t.Fatal(err)
	}
	return cli.PercentOf(c, "tolerance")
}
