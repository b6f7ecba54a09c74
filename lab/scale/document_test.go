package scale_test

import (
	"strings"
	"testing"

	"assay.dev/assay/internal/judge/page"
	"assay.dev/assay/lab/scale"
)

// Variants alternate at each point, and their order is turned in every second round.
func TestOrder(t *testing.T) {
	points := []scale.Point{{Threads: 1}, {Rate: 50}}
	got := ""
	for _, c := range scale.Order(2, points, 2) {
		got += string(rune('A'+c.Variant)) + " " + c.Point.String() + ", "
	}
	if want := "A 1 thread, B 1 thread, A 50/s, B 50/s, B 1 thread, A 1 thread, B 50/s, A 50/s, "; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// measured are six rounds of two variants, of which the second has the given multiple of
// the first one's throughput, which grows with the threads.
func measured(ratio float64) (p scale.Parameters, steps []scale.Step) {
	p = scale.Parameters{
		ID: "scale-1", Profile: "tpcc", Variants: []scale.Variant{{Name: "one writer"}, {Name: "two writers", Env: map[string]string{"TPCC_TARGETS": "a/tpcc b/tpcc"}}},
		Points: []scale.Point{{Threads: 4}, {Threads: 1}}, Rounds: 6, Seconds: 10, Seed: 1,
	}
	for _, c := range scale.Order(len(p.Variants), p.Points, p.Rounds) {
		s := scale.Step{Variant: p.Variants[c.Variant].Name, Point: c.Point, Round: c.Round + 1, Seconds: 10, TPS: 100*float64(c.Point.Threads) + float64(c.Round), P95: new(12.5)}
		s.Missing, s.Duplicated = new(int64), new(int64)
		if c.Variant == 1 {
			s.TPS *= ratio
			s.Errors = map[string]int64{"deadlock": 2}
		}
		steps = append(steps, s)
	}
	return p, steps
}

func TestSummarise(t *testing.T) {
	p, steps := measured(1.25)
	d := scale.Summarise(p, scale.Done, steps)
	if len(d.Curves) != 2 || len(d.Ratios) != 3 || len(d.Losses) != 0 || d.Certifies {
		t.Fatalf("%+v", d)
	}
	for _, r := range d.Ratios {
		if r.Pairs != 6 || r.Ratio == nil || *r.Ratio < 1.249 || *r.Ratio > 1.251 || r.Lower == nil || *r.Lower > *r.Ratio || *r.Upper < *r.Ratio {
			t.Errorf("%+v", r)
		}
	}
	one := d.Curves[0].Points
	if one[0].Threads != 1 || *one[0].TPS != 102.5 || *one[0].LeastTPS != 100 || *one[0].MostTPS != 105 || *one[1].Scaling < 3.9 || *one[1].Scaling > 4 {
		t.Errorf("%+v", one)
	}
	if two := d.Curves[1].Points[0]; two.Errors["deadlock"] != 12 {
		t.Errorf("%+v", two)
	}
	text := string(page.Terminal(scale.Page(d), 100, false))
	for _, want := range []string{"two writers: TPCC_TARGETS=a/tpcc b/tpcc", "deadlock 12", "Throughput relative to one writer", "1.250"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page lacks %q:\n%s", want, text)
		}
	}
}

// A step that does not count is in no curve and no ratio; a loss is stated.
func TestBrokenSteps(t *testing.T) {
	p, steps := measured(1)
	steps[0].Broken = "interrupted"
	*steps[1].Missing = 3
	steps[2].Violated = []string{"warehouses and districts"}
	d := scale.Summarise(p, scale.Done, steps)
	if r := d.Ratios[1]; r.Threads != 4 || r.Pairs != 5 || r.Lower != nil {
		t.Errorf("%+v: five pairs are too few for an interval", r)
	}
	if len(d.Losses) != 2 || !strings.Contains(d.Losses[0], "3 acknowledged transactions were lost") || !strings.Contains(d.Losses[1], "warehouses and districts") {
		t.Errorf("%q", d.Losses)
	}
	if empty := scale.Summarise(p, scale.Failed, nil); empty.Curves[0].Points[0].TPS != nil || empty.Ratios[0].Ratio != nil {
		t.Errorf("%+v: no step is no data", empty)
	}
}
