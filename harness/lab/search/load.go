package search

// Load is one rate and what its trials came to.
//
// One decisive trial decides it: in the terms of MLRsearch (FD.io;
// draft-ietf-bmwg-mlrsearch) its goal is a trial-duration sum of one trial with an
// exceed ratio of 0. A trial that is close is read both ways, so that it decides
// nothing and the load is tried again. Where all that it gets are close, the
// cautious reading stands: the load is taken as not sustained, and is called close
// so that nobody reads it as broken. The broken load at which the doubling or
// halving ends is tried once more (see Search.doubtful); where the two contradict each
// other a third decides. Trials that may not be judged count for nothing.
type Load struct {
	Rate                  float64
	Clear, Broken, Close  int
	Scarce, Starved, Void int // cannot tell: too few samples; may not be judged: for the generator, for other reasons
	Refused               int
}

// Class is what a load is known as.
type Class int

// The classes.
const (
	Open       Class = iota // more trials are needed
	Lower                   // a lower bound: the SLOs hold
	Upper                   // an upper bound: they do not
	UpperClose              // an upper bound by caution: no trial of it was clear, nor broken
	TooShort                // its trials have too few samples to tell
	Unmade                  // the generator does not make it
	Unjudged                // its trials may not be judged
)

var classWords = map[Class]string{
	Open: "open", Lower: "lower", Upper: "upper", UpperClose: "close", TooShort: "scarce", Unmade: "unmade", Unjudged: "unjudged",
}

// MarshalText writes the word.
func (c Class) MarshalText() ([]byte, error) { return []byte(classWords[c]), nil }

// upper reports whether loads of the class bound the search from above.
func (c Class) upper() bool { return c == Upper || c == UpperClose }

// Class classifies the load. Trials of one load may contradict each other: most of
// those that were decisive stand.
func (l Load) Class(g Goal) Class {
	spoiled := l.Starved + l.Void
	switch {
	case l.Refused > 0:
		return Unmade
	case l.Broken > l.Clear:
		return Upper
	case l.Clear > l.Broken:
		return Lower
	case l.Scarce > 0:
		return TooShort
	case l.Close >= g.Trials, l.Close > 0 && (l.Clear > 0 || spoiled > g.Spare), l.Clear > 0 && spoiled > g.Spare:
		return UpperClose
	case spoiled > g.Spare && l.Starved >= l.Void:
		return Unmade
	case spoiled > g.Spare:
		return Unjudged
	}
	return Open
}

func (l *Load) add(r Result) {
	switch r {
	case Clear:
		l.Clear++
	case Broken:
		l.Broken++
	case Close:
		l.Close++
	case Scarce:
		l.Scarce++
	case Starved:
		l.Starved++
	case Void:
		l.Void++
	case Refused:
		l.Refused++
	}
}

// Bounds are the relevant bounds: the smallest load that is an upper bound, and
// the largest lower bound under it. nil: there is none.
type Bounds struct{ Lower, Upper *Load }

// relevant finds the bounds of loads in ascending order. A lower bound above the
// upper one is not believed.
func relevant(loads []Load, g Goal) (b Bounds) {
	for i := range loads {
		switch class := loads[i].Class(g); {
		case class.upper():
			b.Upper = &loads[i]
			return b
		case class == Lower:
			b.Lower = &loads[i]
		}
	}
	return b
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
