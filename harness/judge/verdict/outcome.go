package verdict

import "fmt"

// Outcome is a verdict in one word. Its order is the precedence of RULEBOOK
// section 2, so that the worse of two is the greater; the zero value is no
// outcome yet and gives way to every other.
type Outcome int

// The outcomes, from the best to the worst.
const (
	Pass Outcome = iota + 1
	Inconclusive
	Fail
	Invalid
	// LostWrite is the FAIL of a system that lost a write it had acknowledged.
	// It stands above Invalid: whatever else a run got wrong, the loss is real.
	LostWrite
)

// String is the word of the certificate; LostWrite reads FAIL.
func (o Outcome) String() string {
	switch o {
	case Pass:
		return "PASS"
	case Inconclusive:
		return "INCONCLUSIVE"
	case Fail, LostWrite:
		return "FAIL"
	case Invalid:
		return "INVALID"
	}
	return "UNDECIDED"
}

// ExitCode is the exit code of a command that ends with this outcome (DESIGN
// section 4).
func (o Outcome) ExitCode() int {
	switch o {
	case Pass:
		return 0
	case Fail, LostWrite:
		return 1
	case Invalid:
		return 3
	case Inconclusive:
		return 4
	}
	return 2
}

// MarshalText writes the word; an outcome that was never decided is an error.
func (o Outcome) MarshalText() ([]byte, error) {
	if o < Pass || o > LostWrite {
		return nil, fmt.Errorf("write outcome: %d is none", int(o))
	}
	return []byte(o.String()), nil
}

// Worse is the outcome of two together: of the rules and SLOs of one run, and
// of several profiles.
func Worse(a, b Outcome) Outcome { return max(a, b) }
