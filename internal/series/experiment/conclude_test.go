package experiment

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"assay.dev/assay/certificate"
	"assay.dev/assay/internal/judge/compare"
	"assay.dev/assay/internal/judge/stats/effect"
	"assay.dev/assay/internal/judge/verdict"
	"assay.dev/assay/internal/testing/comparetest"
)

const tolerance = 0.03

var cause = []string{"transaction p99", "database binlog"}

// twelvePairs are pairs of runs without a difference. Made once, as it takes time.
var twelvePairs = sync.OnceValues(func() (a, b compare.Group) { return comparetest.Groups("ABBABAABBAABABABBAABBABA", 1) })

// groups are pairs of runs of A and B. The p99 of B is factor times A's; ms is the
// sessions' wait time in the binlog, per transaction.
func groups(pairs int, factor float64, ms func(ofB bool, run int) float64) (a, b compare.Group) {
	a, b = twelvePairs()
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
		"both fall":                             {6, 0.5, scaled(0.5), cause, Confirmed},
		"the class is gone":                     {6, 0.5, scaled(0), cause, Confirmed},
		"the class is gone from some runs":      {6, 0.5, func(b bool, run int) float64 { return scaled(float64(run%2)*0.1)(b, run) }, cause, Confirmed},
		"p99 falls, the class does not":         {6, 0.5, scaled(1), cause, NotConfirmed},
		"the class falls, p99 does not":         {6, 1, scaled(0.5), cause, NotConfirmed},
		"both rise":                             {6, 2, scaled(2), cause, NotConfirmed},
		"nothing changes":                       {6, 1, scaled(1), cause, Equivalent},
		"five pairs are too few":                {5, 0.5, scaled(0.5), cause, Undetermined},
		"no run has the class":                  {6, 0.5, func(bool, int) float64 { return 0 }, cause, Undetermined},
		"a change without a wait class":         {6, 0.5, scaled(0.5), cause[:1], Changed},
		"all database time is not a wait class": {6, 0.5, scaled(0.5), []string{"transaction p99", "database"}, Changed},
		"the class appears":                     {6, 1, func(b bool, _ int) float64 { return map[bool]float64{true: 5}[b] }, cause, NotConfirmed},
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
			if sentence := e.sentence(parametersOf(c.primary), "B"); !strings.HasPrefix(sentence, string(c.want)+": with B instead of A, at 100 tps, ") {
				t.Errorf("sentence %q", sentence)
			}
		})
	}
}

// A third primary metric cannot refute a cause, but has to fall to confirm it.
func TestThirdMetric(t *testing.T) {
	falls := func(name string) PrimaryMetric {
		return PrimaryMetric{Metric: name, Decision: effect.Changed, Falls: true}
	}
	same := PrimaryMetric{Metric: "fsyncs", Decision: effect.Equivalent}
	if got := outcome([]PrimaryMetric{falls(cause[0]), falls(cause[1]), same}, 6); got != Undetermined {
		t.Error(got)
	}
	if got := outcome([]PrimaryMetric{falls(cause[0]), falls(cause[1]), falls("fsyncs")}, 6); got != Confirmed {
		t.Error(got)
	}
}

// The sentence names a run that stands out in a primary metric, by how much, and what would
// be concluded without its pair.
func TestOutlier(t *testing.T) {
	for name, c := range map[string]struct {
		pairs  int
		factor float64 // of the outlier
		want   Outcome
		parts  []string
	}{
		"of seven pairs, one rises": {7, 3, Undetermined, []string{"without its pair changed (transaction p99 0.50", "stands out: transaction p99 is ", " times); "}},
		"the same without it":       {9, 0.3, Changed, []string{"without its pair changed all the same (transaction p99 0.50"}},
		"too few without it":        {6, 0.3, Changed, []string{"without its pair undetermined, as 5 pairs are too few (transaction p99 0.50"}},
	} {
		t.Run(name, func(t *testing.T) {
			a, b := groups(c.pairs, 0.5, scaled(1))
			l := b.Runs[3].Certificate.Latency[verdict.TransactionName]
			p99 := *l.P99 * c.factor
			l.P99 = &p99
			b.Runs[3].Certificate.Latency[verdict.TransactionName] = l
			e, err := Conclude(a, b, cause[:1], tolerance)
			if err != nil {
				t.Fatal(err)
			}
			sentence := e.sentence(parametersOf(cause[:1]), "B")
			if e.Outcome != c.want || e.Outlier == nil || e.Outlier.Folder != b.Runs[3].Folder {
				t.Fatalf("%s, %+v: %s", e.Outcome, e.Outlier, sentence)
			}
			for _, part := range append(c.parts, b.Runs[3].Folder+" stands out") {
				if !strings.Contains(sentence, part) {
					t.Errorf("no %q in: %s", part, sentence)
				}
			}
		})
	}
}

func parametersOf(primary []string) Parameters {
	return Parameters{Rate: 100, Unit: "tps", Primary: primary, Pairs: 6, Tolerance: tolerance, Variants: []Variant{{Name: "A"}, {Name: "B"}}}
}

// The sentence and the events show a wait class that is gone, with its former time.
func TestSentence(t *testing.T) {
	a, b := groups(6, 0.5, scaled(0))
	e, err := Conclude(a, b, cause, tolerance)
	if err != nil {
		t.Fatal(err)
	}
	got := e.sentence(parametersOf(cause), "B")
	if !strings.HasPrefix(got, "confirmed: with B instead of A, at 100 tps, transaction p99 fell from ") ||
		!strings.HasSuffix(got, " and database binlog fell from 10.0 to 0 ms per transaction, over 6 pairs; "+
			"the bottleneck with A was none in 6 of 6 runs, with B none in 6 of 6 runs") {
		t.Error(got)
	}
	if p := e.Primary[1].P; p == nil || *p != 2.0/64 {
		t.Errorf("p %v", p)
	}
	first := fmt.Sprint(e.Events[0].Event, *e.Events[0].A, *e.Events[0].B)
	if first != fmt.Sprint("synch/cond/sql/MYSQL_BIN_LOG::COND_done", 10.025, 0) {
		t.Error(first)
	}
}

// Whatever the values, a cause is confirmed only if both metrics fell, and never in
// both directions.
func TestConfirmedOnlyIfBothFall(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		pairs := rapid.IntRange(1, 9).Draw(rt, "pairs")
		factor := rapid.Float64Range(0.3, 3).Draw(rt, "factor")
		times := rapid.SampledFrom([]float64{0, 0.2, 0.97, 1, 1.5}).Draw(rt, "times")
		noise := rapid.Float64Range(0, 3).Draw(rt, "noise")
		ms := func(ofB bool, run int) float64 {
			if ofB {
				return 10*times + noise*float64(run%2)
			}
			return 10 + noise*float64(run%3)
		}
		a, b := groups(pairs, factor, ms)
		forward, err := Conclude(a, b, cause, tolerance)
		if err != nil {
			rt.Fatal(err)
		}
		backward, err := Conclude(b, a, cause, tolerance)
		if err != nil {
			rt.Fatal(err)
		}
		for _, e := range []Effect{forward, backward} {
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
				rt.Errorf("%s, and %d metrics fell", e.Outcome, falls)
			}
			if pairs < effect.MinPairs(1) && e.Outcome != Undetermined {
				rt.Errorf("%s after %d pairs", e.Outcome, pairs)
			}
		}
		if forward.Outcome == Confirmed && backward.Outcome == Confirmed {
			rt.Error("confirmed in both directions")
		}
	})
}
