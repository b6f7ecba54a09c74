// SPDX-License-Identifier: Apache-2.0

package verdict

// Outcome is a verdict in one word. Outcomes are ordered by the precedence of
// docs/rulebook.md: the worse of two is the greater. The zero value is "not decided yet".
type Outcome int

// The outcomes, from the best to the worst.
const (
	Pass Outcome = iota + 1
	Inconclusive
	Fail
	Invalid
	// LostWrite is the FAIL of a system that lost an acknowledged write. It takes
	// precedence over Invalid: the loss is real, whatever else went wrong in the run.
	LostWrite
)

// String is the word in the certificate; that of LostWrite is FAIL.
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

// OutcomeOf is the outcome with this word in a certificate; FAIL is Fail.
func OutcomeOf(word string) (o Outcome, ok bool) {
	for _, o := range []Outcome{Pass, Inconclusive, Fail, Invalid} {
		if o.String() == word {
			return o, true
		}
	}
	return 0, false
}

// ExitCode is the exit code of a command that ends with this outcome
// (docs/design.md, Verdict).
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

// Worse combines two outcomes: of rules and SLOs of one run, or of two profiles.
func Worse(a, b Outcome) Outcome { return max(a, b) }
