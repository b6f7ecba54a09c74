package sampling

import (
	"context"

	"assay.dev/assay/internal/observe/collect"
	"assay.dev/assay/internal/observe/record"
)

// Collector is the collector of a database.
type Collector interface {
	collect.Collector
	// Describe returns what the server is, also after a failed Start and during Run.
	Describe(ctx context.Context) (record.Database, error)
	// Notes lists what could not be observed, as sentences for the certificate, each
	// with its remedy. The list is complete after Close.
	Notes() []string
}

// Examination is what a collector would find, determined without changing the server.
type Examination struct {
	Disabled int      // number of disabled instruments and consumers that a run would enable
	Notes    []string // what could not be observed, each with the SQL that would fix it
	Burdens  []string // what a run costs the server that it need not, likewise
	Left     string   // what runs that were killed have left changed on the server, likewise; empty: nothing
	Hints    []string // what else could be observed, likewise; optional for a run
	// Variables are the status variables that could be read, by name.
	Variables []string
}

// RightsError means that the user may not read what a collector needs.
type RightsError struct {
	Err error
	SQL string // what an administrator runs to allow it
}

func (e *RightsError) Error() string { return e.Err.Error() + "; " + e.Hint() }
func (e *RightsError) Unwrap() error { return e.Err }

// Hint returns the next step.
func (e *RightsError) Hint() string { return "run as an administrator: " + e.SQL }

// BlindError means that the server shows waits to no user.
type BlindError struct{ Why, Remedy string }

func (e *BlindError) Error() string { return e.Why + ": " + e.Remedy }

// SharedServer is the note of a run during which another run used the server.
const SharedServer = "database: another run of Assay used this server at the same time: waits, counters and statement times include its load, and it may have slowed this run down"
