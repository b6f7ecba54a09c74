package arrivals

import (
	"math"
	"slices"
	"testing"
	"time"

	"go.k6.io/k6/v2/lib"
	"pgregory.net/rapid"

	"assay.dev/assay/internal/plan"
)

func stagesFrom(t *rapid.T) []plan.Stage {
	var stages []plan.Stage
	start := time.Duration(0)
	for range rapid.IntRange(1, 4).Draw(t, "stages") {
		d := time.Duration(rapid.IntRange(1, 20).Draw(t, "seconds")) * time.Second
		from, to := rapid.Float64Range(0, 200).Draw(t, "from"), rapid.Float64Range(0, 200).Draw(t, "to")
		stages = append(stages, plan.Stage{
			Start: start, Duration: d, From: from, To: to,
			Arrivals: int64(math.Round((from + to) / 2 * d.Seconds())),
		})
		start += d
	}
	return stages
}

func all(s *Schedule) (at []time.Duration) {
	for {
		a, ok := s.Next()
		if !ok {
			return at
		}
		at = append(at, a)
	}
}

func TestScheduleHoldsExactCountsInOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		stages := stagesFrom(t)
		even := rapid.Bool().Draw(t, "even")
		at := all(NewSchedule(stages, rapid.Uint64().Draw(t, "seed"), even, Whole))
		if !slices.IsSorted(at) {
			t.Fatal("instants are not in order")
		}
		for _, st := range stages {
			n := int64(0)
			for _, a := range at {
				if a >= st.Start && a < st.End() {
					n++
				}
			}
			if n != st.Arrivals {
				t.Fatalf("stage at %s has %d arrivals, want %d", st.Start, n, st.Arrivals)
			}
		}
	})
}

// The union of all workers' slots is the whole schedule, for any split that k6
// accepts.
func TestSegmentsAreAPartition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		stages := stagesFrom(t)
		seed := rapid.Uint64().Draw(t, "seed")
		workers := rapid.IntRange(1, 9).Draw(t, "workers")
		shares, sequence := sharesOf(workers)
		var union []time.Duration
		for _, segment := range shares {
			union = append(union, all(NewSchedule(stages, seed, false, stripeOf(t, segment, sequence)))...)
		}
		slices.Sort(union)
		if whole := all(NewSchedule(stages, seed, false, Whole)); !slices.Equal(union, whole) {
			t.Fatalf("%d workers cover %d slots of %d", workers, len(union), len(whole))
		}
	})
}

// A slot has the same number on its worker as in the whole schedule.
func TestNumbersOfSlots(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		stages := stagesFrom(t)
		seed := rapid.Uint64().Draw(t, "seed")
		whole := all(NewSchedule(stages, seed, false, Whole))
		shares, sequence := sharesOf(rapid.IntRange(1, 9).Draw(t, "workers"))
		var numbers []int64
		for _, segment := range shares {
			s := NewSchedule(stages, seed, false, stripeOf(t, segment, sequence))
			for due, ok := s.Next(); ok; due, ok = s.Next() {
				if numbers = append(numbers, s.Number()); whole[s.Number()] != due {
					t.Fatalf("slot %d is due at %s, want %s", s.Number(), due, whole[s.Number()])
				}
			}
		}
		slices.Sort(numbers)
		if len(slices.Compact(numbers)) != len(whole) {
			t.Fatalf("%d numbers of %d slots", len(numbers), len(whole))
		}
	})
}

func sharesOf(workers int) (segments []string, sequence string) {
	pl := plan.Shares(slices.Repeat([]int{1}, workers), func(float64) int { return 1 })
	for _, w := range pl.Workers {
		segments = append(segments, w.Segment)
	}
	return segments, pl.Sequence
}

func stripeOf(t *rapid.T, segment, sequence string) Stripe {
	seg, err := lib.NewExecutionSegmentFromString(segment)
	if err != nil {
		t.Fatal(err)
	}
	var seq *lib.ExecutionSegmentSequence
	if sequence != "" {
		s, err := lib.NewExecutionSegmentSequenceFromString(sequence)
		if err != nil {
			t.Fatal(err)
		}
		seq = &s
	}
	tuple, err := lib.NewExecutionTuple(seg, seq)
	if err != nil {
		t.Fatal(err)
	}
	start, offsets, _ := tuple.GetStripedOffsets()
	return Stripe{Start: start, Offsets: offsets}
}

// Arrivals of a steady stage are Poisson given their count: gaps between them
// are exponential (coefficient of variation 1), and the seconds' counts vary
// as much as their mean. Seeds are fixed; the bounds are five standard errors.
func TestSteadyArrivalsArePoisson(t *testing.T) {
	const rate, seconds = 200, 500
	st := []plan.Stage{{Duration: seconds * time.Second, From: rate, To: rate, Arrivals: rate * seconds}}
	at := all(NewSchedule(st, 7, false, Whole))
	counts := make([]float64, seconds)
	var gaps []float64
	for i, a := range at {
		counts[a/time.Second]++
		if i > 0 {
			gaps = append(gaps, (a - at[i-1]).Seconds())
		}
	}
	if cv := math.Sqrt(variance(gaps)) * rate; math.Abs(cv-1) > 0.02 {
		t.Errorf("gaps have a coefficient of variation of %.3f, want 1", cv)
	}
	if d := variance(counts) / rate; math.Abs(d-1) > 0.32 {
		t.Errorf("counts per second have a variance of %.2f times their mean, want 1", d)
	}
}

// A ramp's arrivals follow its rate.
func TestRampFollowsItsRate(t *testing.T) {
	st := []plan.Stage{{Duration: 100 * time.Second, From: 100, To: 900, Arrivals: 50_000}}
	at := all(NewSchedule(st, 3, false, Whole))
	for _, x := range []float64{0.25, 0.5, 0.75} {
		want := (100*x + 800*x*x/2) / 500
		i, _ := slices.BinarySearch(at, time.Duration(x*float64(100*time.Second)))
		if got := float64(i) / 50_000; math.Abs(got-want) > 0.012 {
			t.Errorf("after %.0f %% of the ramp %.4f of its arrivals have occurred, want %.4f", 100*x, got, want)
		}
	}
}

func TestEvenSpacing(t *testing.T) {
	st := []plan.Stage{{Duration: 2 * time.Second, From: 5, To: 5, Arrivals: 10}}
	for i, a := range all(NewSchedule(st, 1, true, Whole)) {
		if want := time.Duration(100+200*i) * time.Millisecond; (a - want).Abs() > time.Microsecond {
			t.Errorf("slot %d is due at %s, want %s", i, a, want)
		}
	}
}

func variance(v []float64) float64 {
	mean, sum := 0.0, 0.0
	for _, x := range v {
		mean += x / float64(len(v))
	}
	for _, x := range v {
		sum += (x - mean) * (x - mean) / float64(len(v)-1)
	}
	return sum
}
