package main

import (
	"testing"

	"assay/harness/observe/collect/pi/pitest"
)

// startInsights stands in for Performance Insights, of a database in which one
// and a half sessions wait for redo, and a quarter runs on CPU.
func startInsights(t *testing.T) *pitest.Server {
	t.Helper()
	s := pitest.Serve(t)
	s.Load = func(int64) []pitest.Session {
		return []pitest.Session{
			{Event: "wait/io/aurora_redo_log_flush", Statement: "UPDATE account SET balance = ?", Sessions: 1.5},
			{Event: "CPU", Statement: "SELECT * FROM account WHERE id = ?", Sessions: 0.25},
		}
	}
	return s
}
