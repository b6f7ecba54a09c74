package main

import (
	"strconv"

	"github.com/rogpeppe/go-internal/testscript"

	"assay/harness/observe/influx/influxtest"
)

type influxKey struct{}

// setUpInflux names a real InfluxDB for a script, and a database of its own.
func setUpInflux(e *testscript.Env, db *influxtest.Server) {
	e.Values[influxKey{}] = db
	e.Setenv("INFLUX", db.URL())
	e.Setenv("INFLUX_TOKEN", db.Token())
	e.Setenv("INFLUX_SECRET", db.Password())
}

// shown DATABASE TOTAL QUERY: the InfluxQL query finds values, and they add up
// to the total.
func shown(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: shown DATABASE TOTAL QUERY")
	}
	total, n := ts.Value(influxKey{}).(*influxtest.Server).Sum(args[0], args[2])
	if got := strconv.FormatFloat(total, 'g', -1, 64); n == 0 || got != args[1] {
		ts.Fatalf("%d values with the sum %s, want %s", n, got, args[1])
	}
}

// influx_has DATABASE TEXT QUERY: the query's first value is the text.
func queryResult(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: influx_has DATABASE TEXT QUERY")
	}
	found := ts.Value(influxKey{}).(*influxtest.Server).Query(args[0], args[2])
	if len(found) != 1 || len(found[0].Values) != 1 || found[0].Values[0][1] != args[1] {
		ts.Fatalf("found %v, want one value, %q", found, args[1])
	}
}
