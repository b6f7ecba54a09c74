//go:build live

package main

import (
	"strconv"

	"github.com/rogpeppe/go-internal/testscript"

	"assay.dev/assay/internal/testing/influxtest"
)

type influxKey struct{}

// setUpInflux gives a script access to a real InfluxDB.
func setUpInflux(e *testscript.Env, db *influxtest.Server) {
	e.Values[influxKey{}] = db
	e.Setenv("INFLUX", db.URL())
	e.Setenv("INFLUX_TOKEN", db.Token())
	e.Setenv("INFLUX_SECRET", db.Password)
}

// influx-sum DATABASE TOTAL QUERY fails unless the InfluxQL query returns values whose sum
// is the total.
func influxSum(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: influx-sum DATABASE TOTAL QUERY")
	}
	total, n := ts.Value(influxKey{}).(*influxtest.Server).Sum(args[0], args[2])
	if got := strconv.FormatFloat(total, 'g', -1, 64); n == 0 || got != args[1] {
		ts.Fatalf("%d values with the sum %s, want %s", n, got, args[1])
	}
}

// influx-has DATABASE TEXT QUERY fails unless the query's only value is the text.
func influxHas(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: influx-has DATABASE TEXT QUERY")
	}
	found := ts.Value(influxKey{}).(*influxtest.Server).Query(args[0], args[2])
	if len(found) != 1 || len(found[0].Values) != 1 || found[0].Values[0][1] != args[1] {
		ts.Fatalf("found %v, want one value, %q", found, args[1])
	}
}
