package sampling

// Examination is what a collector would meet, found out without a change to the
// server.
type Examination struct {
	Off   int      // instruments and consumers that are off and would be switched on
	Notes []string // what could not be seen, each with the SQL that mends it
	Hints []string // what would be seen beside, likewise; nothing of it is needed
}

// RightsError is a user who may not read what a collector needs.
type RightsError struct {
	Err error
	SQL string // what an administrator runs to mend it
}

func (e *RightsError) Error() string { return e.Err.Error() + "; run as an administrator: " + e.SQL }
func (e *RightsError) Unwrap() error { return e.Err }

// BlindError is a server that shows no waits to anybody.
type BlindError struct{ Why, Remedy string }

func (e *BlindError) Error() string { return e.Why + ": " + e.Remedy }

// Together is the note of a run that was not alone.
const Together = "database: another run of Assay used this server at the same time: waits, counters and statement times hold its load too, and it may have slowed this run down"
