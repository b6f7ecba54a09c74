package experiment

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"assay/harness/judge/certificate"
	"assay/harness/judge/compare"
	"assay/harness/judge/compare/comparetest"
	"assay/harness/judge/stats/effect"
	"assay/harness/judge/verdict"
)

const tolerance = 0.03

var cause = []string{"transaction p99", "database binlog"}

// all are twelve pairs of runs that are alike. They take time to make.
var all = sync.OnceValues(func() (a, b compare.Group) { return comparetest.Groups(strings.Repeat("ABBA", 6), 1) })

// groups are so many pairs of runs of A and B: the p99 of B is factor times A's,
// and sessions spend ms in the binlog, which may depend on the run.
func groups(pairs int, factor float64, ms func(ofB bool, run int) float64) (a, b compare.Group) {
	a, b = all()
	a.Runs, b.Runs = slices.Clone(a.Runs[:pairs]), slices.Clone(b.Runs[:pairs])
	for i := range pairs {
		a.Runs[i].Certificate.Waits, b.Runs[i].Certificate.Waits = waits(ms(false, i)), waits(ms(true, i))
		latency := maps.Clone(b.Runs[i].Certificate.Latency)
		l := latency[verdict.TransactionName]
		p99 := *l.P99 * factor
		l.P99 = &p99
		latency[verdict.TransactionName] = l
		b.Runs[i].Certificate.Latency = latency
	}
	return a, b
}

func waits(binlog float64) []certificate.Wait {
	cpu := 2.0
	all := []certificate.Wait{{Event: "cpu", Class: "CPU", MsPerTransaction: &cpu, Inferred: true}}
	if binlog > 0 {
		all = append(all, certificate.Wait{Event: "synch/cond/sql/MYSQL_BIN_LOG::COND_done", Class: "binlog", MsPerTransaction: &binlog})
	}
	return all
}

func scaled(times float64) func(bool, int) float64 {
	return func(ofB bool, run int) float64 {
		ms := 10 + 0.01*float64(run)
		if ofB {
			ms *= times
		}
		return ms
	}
}

func TestOutcomes(t *testing.T) {
	for name, c := range map[string]struct {
		pairs   int
		factor  float64
		binlog  func(bool, int) float64
		primary []string
		want    Outcome
	}{
		"both fall":                          {6, 0.5, scaled(0.5), cause, Confirmed},
		"the class is gone":                  {6, 0.5, scaled(0), cause, Confirmed},
		"gone from some runs":                {6, 0.5, func(b bool, run int) float64 { return scaled(float64(run%2)*0.1)(b, run) }, cause, Confirmed},
		"p99 falls, the class does not":      {6, 0.5, scaled(1), cause, NotConfirmed},
		"the class falls, p99 does not":      {6, 1, scaled(0.5), cause, NotConfirmed},
		"both rise":                          {6, 2, scaled(2), cause, NotConfirmed},
		"nothing changes":                    {6, 1, scaled(1), cause, Equivalent},
		"five pairs show nothing":            {5, 0.5, scaled(0.5), cause, Undetermined},
		"no run has the class":               {6, 0.5, func(bool, int) float64 { return 0 }, cause, Undetermined},
		"a change without a cause":           {6, 0.5, scaled(0.5), cause[:1], Changed},
		"the whole database is no class":     {6, 0.5, scaled(0.5), []string{"transaction p99", "database"}, Changed},
		"the class comes up, where none was": {6, 1, func(b bool, _ int) float64 { return map[bool]float64{true: 5}[b] }, cause, NotConfirmed},
	} {
		t.Run(name, func(t *testing.T) {
			a, b := groups(c.pairs, c.factor, c.binlog)
			e, err := Conclude(a, b, c.primary, tolerance)
			if err != nil {
				t.Fatal(err)
			}
			if e.Outcome != c.want {
				t.Errorf("%s, want %s: %+v", e.Outcome, c.want, e.Primary)
			}
			if sentence := e.sentence(askedFor(c.primary), "B"); !strings.HasPrefix(sentence, string(c.want)+": with B instead of A, at 100 tps, ") {
				t.Errorf("sentence %q", sentence)
			}
		})
	}
}

// What names no cause refutes none.
func TestThirdMetric(t *testing.T) {
	falls := func(name string) Decided { return Decided{Metric: name, Decision: effect.Changed, Falls: true} }
	same := Decided{Metric: "fsyncs", Decision: effect.Equivalent}
	if got := outcome([]Decided{falls(cause[0]), falls(cause[1]), same}, 6); got != Undetermined {
		t.Error(got)
	}
	if got := outcome([]Decided{falls(cause[0]), falls(cause[1]), falls("fsyncs")}, 6); got != Confirmed {
		t.Error(got)
	}
}

func askedFor(primary []string) Asked {
	return Asked{Rate: 100, Unit: "tps", Primary: primary, Pairs: 6, Tolerance: tolerance, Variants: []Variant{{Name: "A"}, {Name: "B"}}}
}

// A class that is gone is told with what it was.
func TestSentence(t *testing.T) {
	a, b := groups(6, 0.5, scaled(0))
	e, err := Conclude(a, b, cause, tolerance)
	if err != nil {
		t.Fatal(err)
	}
	got := e.sentence(askedFor(cause), "B")
	if !strings.HasPrefix(got, "confirmed: with B instead of A, at 100 tps, transaction p99 fell from ") ||
		!strings.HasSuffix(got, " and database binlog fell from 10.0 to 0 ms a transaction, over 6 pairs; "+
			"the bottleneck with A was none to explain in 6 of 6 runs, with B none to explain in 6 of 6 runs") {
		t.Error(got)
	}
	if p := e.Primary[1].P; p == nil || *p != 2.0/64 {
		t.Errorf("p %v", p)
	}
	told := fmt.Sprint(e.Events[0].Event, *e.Events[0].A, *e.Events[0].B)
	if told != fmt.Sprint("synch/cond/sql/MYSQL_BIN_LOG::COND_done", 10.025, 0) {
		t.Error(told)
	}
}

// Whatever the figures: nothing is confirmed unless both metrics fell, and not in
// both directions.
func TestConfirmedIsNoAccident(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		pairs := rapid.IntRange(1, 9).Draw(rt, "pairs")
		factor := rapid.Float64Range(0.3, 3).Draw(rt, "factor")
		times := rapid.SampledFrom([]float64{0, 0.2, 0.97, 1, 1.5}).Draw(rt, "times")
		shaky := rapid.Float64Range(0, 3).Draw(rt, "shaky")
		ms := func(ofB bool, run int) float64 {
			if ofB {
				return 10*times + shaky*float64(run%2)
			}
			return 10 + shaky*float64(run%3)
		}
		a, b := groups(pairs, factor, ms)
		there, err := Conclude(a, b, cause, tolerance)
		if err != nil {
			rt.Fatal(err)
		}
		back, err := Conclude(b, a, cause, tolerance)
		if err != nil {
			rt.Fatal(err)
		}
		for _, e := range []Effect{there, back} {
			falls := 0
			for _, d := range e.Primary {
				if d.Falls {
					falls++
				}
				if d.Falls && d.Decision != effect.Changed {
					rt.Errorf("%+v", d)
				}
			}
			if (e.Outcome == Confirmed) != (falls == 2) {
				rt.Errorf("%s with %d that fell", e.Outcome, falls)
			}
			if pairs < effect.LeastPairs(1) && e.Outcome != Undetermined {
				rt.Errorf("%s after %d pairs", e.Outcome, pairs)
			}
		}
		if there.Outcome == Confirmed && back.Outcome == Confirmed {
			rt.Error("confirmed both ways")
		}
	})
}
