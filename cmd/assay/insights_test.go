//go:build live

package main

import (
	"testing"

	"assay.dev/assay/internal/testing/pitest"
)

// startPerformanceInsights starts a fake Performance Insights API of a database with 1.5
// sessions waiting for the redo log and 0.25 on CPU.
func startPerformanceInsights(t *testing.T) *pitest.Server {
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
