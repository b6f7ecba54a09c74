package search

// Load is one rate, with the number of its trials by result.
//
// One clear or broken trial decides it: in the terms of MLRsearch (FD.io;
// draft-ietf-bmwg-mlrsearch) the goal duration sum is one trial, and the goal exceed
// ratio 0. A close trial decides nothing, and the load is tried again. If all of its
// trials are close, the load conservatively counts as not sustained, but is shown as
// close rather than broken. The broken load that ends the doubling or halving is
// tried once more (see Search.doubtful); if the two trials contradict each other, a
// third one decides. INVALID trials do not count.
type Load struct {
	Rate                  float64
	Clear, Broken, Close  int
	Scarce, Starved, Void int
	Refused               int
}

// Class is what the trials of a load show.
type Class string

// The classes.
const (
	Open       Class = "open"     // more trials are needed
	Lower      Class = "lower"    // a lower bound: the SLOs hold
	Upper      Class = "upper"    // an upper bound: they are missed
	UpperClose Class = "close"    // conservatively an upper bound: its trials are too close to call
	TooShort   Class = "scarce"   // its trials have too few samples to decide
	Unmade     Class = "unmade"   // the generator cannot offer it
	Unjudged   Class = "unjudged" // its trials are INVALID
)

// upper reports whether loads of the class are upper bounds.
func (c Class) upper() bool { return c == Upper || c == UpperClose }

// Class classifies the load. Where its clear and broken trials contradict each
// other, the majority decides.
func (l Load) Class(g Goal) Class {
	invalid := l.Starved + l.Void
	switch {
	case l.Refused > 0:
		return Unmade
	case l.Broken > l.Clear:
		return Upper
	case l.Clear > l.Broken:
		return Lower
	case l.Scarce > 0:
		return TooShort
	case l.Close >= g.Trials, l.Close > 0 && (l.Clear > 0 || invalid > g.Spare), l.Clear > 0 && invalid > g.Spare:
		return UpperClose
	case invalid > g.Spare && l.Starved >= l.Void:
		return Unmade
	case invalid > g.Spare:
		return Unjudged
	}
	return Open
}

func (l *Load) add(r Result) {
	*map[Result]*int{
		Clear: &l.Clear, Broken: &l.Broken, Close: &l.Close, Scarce: &l.Scarce, Starved: &l.Starved, Void: &l.Void, Refused: &l.Refused,
	}[r]++
}

// Bounds are the relevant bounds of MLRsearch: the smallest upper bound, and the
// largest lower bound below it. nil: none.
type Bounds struct{ Lower, Upper *Load }

// Bounds are the relevant bounds so far. A lower bound above an upper one is ignored.
func (s *Search) Bounds() (b Bounds) {
	for _, l := range s.loads {
		switch class := l.Class(s.goal); {
		case class.upper():
			b.Upper = &l
			return b
		case class == Lower:
			b.Lower = &l
		}
	}
	return b
}
