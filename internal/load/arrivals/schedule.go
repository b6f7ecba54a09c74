package arrivals

import (
	"math"
	"math/rand/v2"
	"time"

	"assay.dev/assay/internal/plan"
)

// Stripe selects one worker's slots of the whole schedule: the first has the index
// Start, and the Offsets, repeated in a cycle, lead from each to the next, as in k6's
// execution tuple (GetStripedOffsets).
type Stripe struct {
	Start   int64
	Offsets []int64
}

// Whole is the stripe of a single worker: every slot.
var Whole = Stripe{Start: 0, Offsets: []int64{1}}

// Schedule yields the instants at which transactions are due, in order. It
// needs constant memory. It is not safe for concurrent use.
//
// Within a stage of n arrivals the instants are the order statistics of n
// independent draws from the stage's rate profile, that is a Poisson process
// given its count. They are generated in order (Bentley and Saxe 1980): with
// w the largest of k uniform numbers in [0, 1], w is distributed as U^(1/k),
// and the next below it is the largest of k-1 uniform ones in [0, w].
type Schedule struct {
	stages []plan.Stage
	seed   uint64
	even   bool
	stripe Stripe

	stage  int // current stage
	taken  int64
	rest   float64 // 1 - the last uniform order statistic of the stage
	random *rand.Rand

	index int64 // index of the next slot in the whole schedule
	own   int64 // index of the next slot of the stripe
	step  int   // position in stripe.Offsets
}

// NewSchedule starts a schedule from its beginning. The same stages, seed and
// spacing give the same instants on every worker.
func NewSchedule(stages []plan.Stage, seed uint64, even bool, stripe Stripe) *Schedule {
	s := &Schedule{stages: stages, seed: seed, even: even, stripe: stripe, stage: -1, own: stripe.Start}
	s.nextStage()
	return s
}

func (s *Schedule) nextStage() {
	s.stage++
	s.taken, s.rest = 0, 1
	s.random = rand.New(rand.NewPCG(s.seed, uint64(s.stage)))
}

// Next returns the instant of the stripe's next slot, since t0; false at the end.
func (s *Schedule) Next() (time.Duration, bool) {
	for {
		at, ok := s.advance()
		if !ok {
			return 0, false
		}
		if s.index-1 == s.own {
			s.own += s.stripe.Offsets[s.step]
			s.step = (s.step + 1) % len(s.stripe.Offsets)
			return at, true
		}
	}
}

// Number is that of the last slot that Next has returned, from 0 in the whole schedule: no
// other slot has it, on any worker.
func (s *Schedule) Number() int64 { return s.index - 1 }

// advance returns the next slot of the whole schedule.
func (s *Schedule) advance() (time.Duration, bool) {
	for s.stage < len(s.stages) && s.taken >= s.stages[s.stage].Arrivals {
		s.nextStage()
	}
	if s.stage >= len(s.stages) {
		return 0, false
	}
	st := s.stages[s.stage]
	var u float64
	if s.even {
		u = (float64(s.taken) + 0.5) / float64(st.Arrivals)
	} else {
		// 1-U is uniform too and never 0, so that its logarithm is finite.
		left := float64(st.Arrivals - s.taken)
		s.rest *= math.Exp(math.Log(1-s.random.Float64()) / left)
		u = 1 - s.rest
	}
	s.taken++
	s.index++
	x := time.Duration(elapsed(u, st.From, st.To) * float64(st.Duration))
	return st.Start + min(max(x, 0), st.Duration-1), true
}

// elapsed is the share x of a stage's duration after which the share u of its arrivals
// has occurred, for a rate that changes linearly from a to b:
//
//	a x + (b-a) x^2 / 2 = u (a+b)/2
//
// solved for x in the form without cancellation for a near b.
func elapsed(u, a, b float64) float64 {
	c := u * (a + b) / 2
	root := a + math.Sqrt(max(0, a*a+2*(b-a)*c))
	if root == 0 {
		return 0
	}
	return min(1, 2*c/root)
}
