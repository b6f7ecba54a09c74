package verdict

import (
	"testing"
)

func TestPrecedence(t *testing.T) {
	order := []Outcome{0, Pass, Inconclusive, Fail, Invalid, LostWrite} // docs/rulebook.md
	for i, a := range order {
		for j, b := range order {
			if got := Worse(a, b); got != order[max(i, j)] {
				t.Errorf("of %v and %v the worse is %v", a, b, got)
			}
		}
	}
}

func TestOutcomesInWordsAndExitCodes(t *testing.T) {
	for o, want := range map[Outcome]struct {
		word string
		exit int
	}{
		Pass:         {"PASS", 0},
		Fail:         {"FAIL", 1},
		LostWrite:    {"FAIL", 1},
		Invalid:      {"INVALID", 3},
		Inconclusive: {"INCONCLUSIVE", 4},
	} {
		if o.String() != want.word {
			t.Errorf("%d is %v", o, o)
		}
		if o.ExitCode() != want.exit {
			t.Errorf("%v: exit %d", o, o.ExitCode())
		}
		if read, ok := OutcomeOf(want.word); !ok || read.String() != want.word || read == LostWrite {
			t.Errorf("%s is read as %v, %v", want.word, read, ok)
		}
	}
	if _, ok := OutcomeOf("UNDECIDED"); ok {
		t.Error("an outcome that was never decided is read")
	}
	if Outcome(0).ExitCode() != 2 {
		t.Error("an outcome that was never decided ends well")
	}
}
