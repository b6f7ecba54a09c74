package sampling

import (
	"context"

	"assay/harness/observe/collect"
	"assay/harness/observe/record"
)

// Collector is the collector of a database.
type Collector interface {
	collect.Collector
	// Describe tells what the server is, also after a failed Start and while
	// Run runs.
	Describe(ctx context.Context) (record.Database, error)
	// Notes are the limits of what was seen, as sentences for the certificate,
	// each with what would lift it. They are whole after Close.
	Notes() []string
}

// Examination is what a collector would meet, found out without a change to the
// server.
type Examination struct {
	Off   int      // instruments and consumers that are off and would be switched on
	Notes []string // what could not be seen, each with the SQL that would make it visible
	Hints []string // what else could be seen, likewise; a run does not need it
}

// RightsError is a user who may not read what a collector needs.
type RightsError struct {
	Err error
	SQL string // what an administrator runs to allow it
}

func (e *RightsError) Error() string { return e.Err.Error() + "; " + e.Hint() }
func (e *RightsError) Unwrap() error { return e.Err }

// Hint is the next step.
func (e *RightsError) Hint() string { return "run as an administrator: " + e.SQL }

// BlindError is a server that shows no waits to anybody.
type BlindError struct{ Why, Remedy string }

func (e *BlindError) Error() string { return e.Why + ": " + e.Remedy }

// SharedServer is the note of a run during which another run watched the server.
const SharedServer = "database: another run of Assay used this server at the same time: waits, counters and statement times hold its load too, and it may have slowed this run down"
