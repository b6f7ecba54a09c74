package search

import "slices"

// Load is one rate and what its trials came to.
//
// With n the larger of the goal's number of trials and of those judged, the
// pessimistic exceed ratio counts all of n that were not good as bad, those not
// made yet and the undecided ones among them; the optimistic one counts only
// the bad. Where even the pessimistic ratio meets the goal the load is a lower
// bound, where not even the optimistic one does it is an upper bound: no trial
// to come, and no other reading of an undecided one, would change that.
// Trials that may not be judged count for nothing.
type Load struct {
	Rate                float64
	Good, Bad, Unclear  int
	Starved, Void, None int // may not be judged: for the generator, for other reasons; None: refused
}

// judged is how many trials say something of the system.
func (l Load) judged() int { return l.Good + l.Bad + l.Unclear }

// ratios are the exceed ratios [0,1] as they stand.
func (l Load) ratios(g Goal) (optimistic, pessimistic float64) {
	n := max(g.Trials, l.judged())
	return float64(l.Bad) / float64(n), float64(n-l.Good) / float64(n)
}

// Class is what a load is known as.
type Class int

// The classes.
const (
	Open      Class = iota // more trials are needed
	Lower                  // a lower bound: the SLOs hold
	Upper                  // an upper bound: they do not
	Undecided              // its trials are used up, and do not tell
	Unmade                 // the generator does not make it
	Unjudged               // its trials may not be judged
)

var classWords = map[Class]string{Open: "open", Lower: "lower", Upper: "upper", Undecided: "undecided", Unmade: "unmade", Unjudged: "unjudged"}

// MarshalText writes the word.
func (c Class) MarshalText() ([]byte, error) { return []byte(classWords[c]), nil }

// Class classifies the load.
func (l Load) Class(g Goal) Class {
	switch optimistic, pessimistic := l.ratios(g); {
	case l.None > 0:
		return Unmade
	case pessimistic <= g.Exceed:
		return Lower
	case optimistic > g.Exceed:
		return Upper
	case l.Starved+l.Void > g.Spare && l.Starved >= l.Void:
		return Unmade
	case l.Starved+l.Void > g.Spare:
		return Unjudged
	case !l.decidable(g):
		return Undecided
	}
	return Open
}

// decidable reports whether trials that are left could still decide.
func (l Load) decidable(g Goal) bool {
	best, worst := l, l
	for range g.limit() - l.judged() {
		best.Good++
		worst.Bad++
		_, pessimistic := best.ratios(g)
		optimistic, _ := worst.ratios(g)
		if pessimistic <= g.Exceed || optimistic > g.Exceed {
			return true
		}
	}
	return false
}

func (l *Load) add(r Result) {
	switch r {
	case Good:
		l.Good++
	case Bad:
		l.Bad++
	case Unclear:
		l.Unclear++
	case Starved:
		l.Starved++
	case Void:
		l.Void++
	case Refused:
		l.None++
	}
}

// Bounds are the relevant bounds: the smallest load that is an upper bound, and
// the largest lower bound under it. nil: there is none.
type Bounds struct{ Lower, Upper *Load }

// relevant finds the bounds of loads in ascending order, and the loads that
// contradict them: lower bounds above the upper one, and loads at which trials
// did not tell although a higher one holds. The bounds are the cautious reading.
func relevant(loads []Load, g Goal) (b Bounds, contradicting []Load) {
	for i := range loads {
		switch loads[i].Class(g) {
		case Upper:
			if b.Upper == nil {
				b.Upper = &loads[i]
			}
		case Lower:
			if b.Upper == nil {
				b.Lower = &loads[i]
			} else {
				contradicting = append(contradicting, loads[i])
			}
		}
	}
	for _, l := range loads {
		if b.Lower != nil && l.Class(g) == Undecided && l.Rate < b.Lower.Rate {
			contradicting = append(contradicting, l)
		}
	}
	slices.SortFunc(contradicting, byRate)
	return b, contradicting
}

func byRate(a, b Load) int {
	switch {
	case a.Rate < b.Rate:
		return -1
	case a.Rate > b.Rate:
		return 1
	}
	return 0
}
