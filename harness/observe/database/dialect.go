package database

// Dialect is how the servers of one family are asked through database/sql: data,
// not behaviour, as far as that goes. Queries answer with one row, whose last
// column counts.
type Dialect struct {
	Name     string   // for people, such as PostgreSQL
	Versions []string // that are tested, and those between them, for people
	Supports func(version string) bool
	Example  string // of a DSN, with a password

	NumberedArguments bool     // $1, $2, ... instead of question marks
	Timestamps        []string // column types that hold an instant, as database/sql names them

	// What preflight asks.
	VersionQuery         string
	ConnectionLimitQuery string // of ordinary users
	ConnectionsQuery     string // of all users, this one too
	ClockQuery           string // the time now, to at least a millisecond
	RaiseConnectionLimit string // format of what an administrator runs; takes the number as text

	// A statement that must not go on is ended from another connection.
	SessionIDQuery string
	CancelFormat   string // takes the session's id

	// What an experiment may change.
	Variables    *Variables // nil: the family has none that an experiment sets by name
	ChangeRights string     // what to grant to a user who may not change what a variant asks for

	// Answer reads what the server said off an error; not ok where the error is
	// none of the server's.
	Answer func(err error) (a Answer, ok bool)
	// Hint is the next step after an error of connecting; empty: not known. nil:
	// none is.
	Hint func(err error) string
}

// Variables are global variables of a server.
type Variables struct {
	ReadFormat  string // takes the name
	SetFormat   string // takes the name and a literal
	Quote       func(text string) string
	BinlogQuery string // whether a binlog is written: 1 or ON
}

// Answer is what a server said instead of doing what it was asked. As an error it is
// the message alone, without the number that drivers put before it.
type Answer struct {
	Message   string
	Condition Condition
}

func (a Answer) Error() string { return a.Message }

// Condition is a kind of answer that is acted on.
type Condition int

// The conditions.
const (
	OtherCondition     Condition = iota
	TooManyConnections           // the server, or its user, has no connection left to give
	Deadlock                     // the statement was ended so that others can go on
	Denied                       // the user lacks a right
)

// Is tells whether an error is an answer of the server of this condition.
func (d *Dialect) Is(err error, c Condition) bool {
	a, ok := d.Answer(err)
	return ok && a.Condition == c
}
