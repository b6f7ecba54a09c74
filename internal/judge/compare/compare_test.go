package compare_test

import (
	"errors"
	"flag"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"assay.dev/assay/certificate"
	"assay.dev/assay/internal/document"
	. "assay.dev/assay/internal/judge/compare"
	"assay.dev/assay/internal/judge/stats/effect"
	"assay.dev/assay/internal/judge/verdict"
	"assay.dev/assay/internal/testing/comparetest"
	"assay.dev/assay/internal/testing/schematest"
)

var tolerance = Options{Tolerance: 0.03}

func compared(t *testing.T, a, b Group, o Options) Comparison {
	t.Helper()
	c, err := Compare(a, b, o)
	if err != nil {
		t.Fatal(err)
	}
	data, err := document.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	schematest.Validate(t, schematest.Compile(t, schemaFile), data)
	return c
}

var update = flag.Bool("update", false, "update the schema")

const schemaFile = "compare.schema.json"

func TestSchema(t *testing.T) {
	schematest.Check(t, schemaFile, Comparison{}, schematest.Header{
		ID: SchemaName, Title: "Assay comparison",
		Description: `What differs between two runs, or two groups of runs. It is not a verdict. Fields are added, never renamed; null is "no data", which is never 0.`,
	}, *update)
}

func row(t *testing.T, c Comparison, name string) Metric {
	t.Helper()
	for _, m := range c.Metrics {
		if m.Name == name {
			return m
		}
	}
	t.Fatalf("no metric %s in %+v", name, c.Metrics)
	return Metric{}
}

// edit changes the certificates of a group.
func edit(g Group, change func(i int, c *certificate.Certificate)) Group {
	g.Runs = slices.Clone(g.Runs)
	for i := range g.Runs {
		change(i, &g.Runs[i].Certificate)
	}
	return g
}

func has(t *testing.T, c Comparison, part string) {
	t.Helper()
	if !slices.ContainsFunc(c.Limitations, func(l string) bool { return strings.Contains(l, part) }) {
		t.Errorf("no limitation has %q:\n%s", part, strings.Join(c.Limitations, "\n"))
	}
}

func hasNot(t *testing.T, c Comparison, part string) {
	t.Helper()
	for _, l := range c.Limitations {
		if strings.Contains(l, part) {
			t.Errorf("limitation %q", l)
		}
	}
}

// fifteenPairs are in an order that was drawn for each pair.
const fifteenPairs = "ABBABAABBAABABABBAABBABABAABAB"

func TestSlower(t *testing.T) {
	a, b := comparetest.Groups(fifteenPairs, 1.25)
	c := compared(t, a, b, tolerance)
	for _, name := range []string{"transaction p50", "transaction p95", "transaction mean", "pay p99"} {
		m := row(t, c, name)
		if m.Decision != effect.Changed || m.Direction != Worse || math.Abs(*m.Ratio-1.25) > 0.01 {
			t.Errorf("%s: %s %s, ratio %v", name, m.Decision, m.Direction, *m.Ratio)
		}
	}
	for _, name := range []string{"achieved rate", "database", "database commit", "generator CPU", "persist lag max"} {
		if m := row(t, c, name); m.Decision != effect.Equivalent || m.Direction != NoDirection {
			t.Errorf("%s: %s %s", name, m.Decision, m.Direction)
		}
	}
	if m := row(t, c, "error share"); m.Ratio != nil || m.Decision != effect.Undetermined || m.Reason != "0 in every run" {
		t.Errorf("error share: %+v", m)
	}
	if len(c.Limitations) != 0 {
		t.Errorf("limitations: %v", c.Limitations)
	}
	back := compared(t, b, a, tolerance)
	for _, m := range c.Metrics {
		other := row(t, back, m.Name)
		if m.Decision != other.Decision || (m.Direction == Worse) != (other.Direction == Better) {
			t.Errorf("%s: %s %s, and back %s %s", m.Name, m.Decision, m.Direction, other.Decision, other.Direction)
		}
		if m.Ratio != nil && math.Abs(*m.Ratio**other.Ratio-1) > 1e-5 {
			t.Errorf("%s: ratio %v, and back %v", m.Name, *m.Ratio, *other.Ratio)
		}
	}
}

func TestHigherIsBetterForARate(t *testing.T) {
	a, b := comparetest.Groups(fifteenPairs, 1)
	b = edit(b, func(_ int, c *certificate.Certificate) { rate := *c.Rate.Achieved * 1.2; c.Rate.Achieved = &rate })
	c := compared(t, a, b, tolerance)
	if m := row(t, c, "achieved rate"); m.Decision != effect.Changed || m.Direction != Better {
		t.Errorf("%+v", m)
	}
}

func TestTooFewRuns(t *testing.T) {
	for _, order := range []string{"AB", "ABBA", "AABB", "ABBAABBAAB", "ABB"} {
		a, b := comparetest.Groups(order, 3)
		c := compared(t, a, b, tolerance)
		for _, m := range c.Metrics {
			if m.Decision != effect.Undetermined || m.Lower != nil || m.P != nil || m.Reason == "" {
				t.Errorf("%s: %s is %s: %+v", order, m.Name, m.Decision, m)
			}
		}
		has(t, c, "too few runs to decide anything")
	}
	// Enough for an interval, but too few for the number of metrics.
	a, b := comparetest.Groups(fifteenPairs[:12], 3)
	c := compared(t, a, b, tolerance)
	if m := row(t, c, "transaction p95"); m.Decision != effect.Undetermined || m.Lower == nil || !strings.Contains(m.Reason, "not significant") {
		t.Errorf("%+v", m)
	}
	has(t, c, `"changed" takes 10 pairs with 15 metrics tested together`)
	// Enough for one metric.
	c = compared(t, a, b, Options{Tolerance: 0.03, Metrics: []string{"transaction p95"}})
	if m := row(t, c, "transaction p95"); m.Decision != effect.Changed || len(c.Metrics) != 1 {
		t.Errorf("%+v", c.Metrics)
	}
}

func TestPairing(t *testing.T) {
	for _, c := range []struct {
		order  string
		paired bool
		detail string
	}{
		{"AB", true, "1 pair, in"},
		{"BA", true, "1 pair, in"},
		{"ABBA", true, "2 pairs, in"},
		{"ABAB", true, "2 pairs, in"},
		{"BAABBA", true, "3 pairs, in"},
		{"AABB", false, "do not alternate"},
		{"ABBBAA", false, "do not alternate"},
		{"ABA", false, "2 runs of A and 1 run of B"},
		{"AABBB", false, "2 runs of A and 3 runs of B"},
	} {
		a, b := comparetest.Groups(c.order, 1)
		got := compared(t, a, b, tolerance)
		if got.Pairing.Paired != c.paired || !strings.Contains(got.Pairing.Detail, c.detail) {
			t.Errorf("%s: %+v", c.order, got.Pairing)
		}
		slices.Reverse(a.Runs) // the order of folders need not be that of runs
		if diff := cmp.Diff(got, compared(t, a, b, tolerance), cmpopts.IgnoreUnexported(Metric{})); diff != "" {
			t.Errorf("%s: the order of folders matters (-want +got):\n%s", c.order, diff)
		}
		unpaired := tolerance
		unpaired.Unpaired = true
		if got := compared(t, a, b, unpaired); got.Pairing.Paired {
			t.Errorf("%s: paired in spite of Unpaired", c.order)
		}
	}
	a, b := comparetest.Groups("ABABAB", 1)
	has(t, compared(t, a, b, tolerance), "every pair ran in the order AB")
	a, b = comparetest.Groups("ABBAAB", 1)
	hasNot(t, compared(t, a, b, tolerance), "every pair ran")
	a, b = comparetest.Groups("ABBAABBAABBA", 1)
	has(t, compared(t, a, b, tolerance), "the order of the runs repeats every 4 runs (AB BA)")
	a, b = comparetest.Groups("ABABBAABABBAABABBA", 1)
	has(t, compared(t, a, b, tolerance), "the order of the runs repeats every 6 runs (AB AB BA)")
	a, b = comparetest.Groups("ABBABAABBAAB", 1)
	hasNot(t, compared(t, a, b, tolerance), "repeats")
	a, b = comparetest.Groups("AABB", 1)
	has(t, compared(t, a, b, tolerance), "not paired: any other change")
}

// Groups that are not paired can be decided too.
func TestUnpairedDecides(t *testing.T) {
	a, b := comparetest.Groups("AAAAAAAABBBBBBBB", 1.25)
	if m := row(t, compared(t, a, b, tolerance), "transaction p95"); m.Decision != effect.Changed || m.Direction != Worse {
		t.Errorf("%+v", m)
	}
}

// invalidate makes a run INVALID by one rule.
func invalidate(c *certificate.Certificate) {
	c.Verdict, c.Rules = "INVALID", slices.Clone(c.Rules)
	c.Rules[0].Verdict, c.Rules[0].Detail = "INVALID", "a worker was killed"
}

func TestInvalidRuns(t *testing.T) {
	a, b := comparetest.Groups("ABBAAB", 1)
	third := b.Runs[1].Folder
	b = edit(b, func(i int, c *certificate.Certificate) {
		if i == 1 {
			invalidate(c)
			c.Verdict = "FAIL" // by a lost write, which takes precedence over INVALID
		}
	})
	c := compared(t, a, b, tolerance)
	// Pairs are made first: the partner of an INVALID run must not get another one.
	if len(c.A.Runs) != 2 || len(c.B.Runs) != 2 || !c.Pairing.Paired || len(c.Pairing.Pairs) != 2 {
		t.Fatalf("%+v", c)
	}
	wantA := []LeftOut{{Folder: a.Runs[1].Folder, Reason: "its partner " + third + " is left out"}}
	wantB := []LeftOut{{Folder: third, Reason: "INVALID by rule worker-lost: a worker was killed"}}
	if diff := cmp.Diff([][]LeftOut{wantA, wantB}, [][]LeftOut{c.A.LeftOut, c.B.LeftOut}, cmpopts.IgnoreUnexported(LeftOut{})); diff != "" {
		t.Error(diff)
	}
	all := edit(a, func(_ int, c *certificate.Certificate) { invalidate(c) })
	refused(t, all, b, tolerance, "no pair of runs can be compared: runs/a/00: INVALID by rule worker-lost: a worker was killed")
	refused(t, b, all, tolerance, "no pair of runs can be compared: runs/b/02: INVALID")
	groups := Options{Tolerance: 0.03, Unpaired: true}
	refused(t, all, b, groups, "A (runs/a) has no run that can be compared: runs/a/00: INVALID by rule worker-lost: a worker was killed")
	refused(t, b, all, groups, "B (runs/a) has no run that can be compared: runs/a/00: INVALID")
	unsealed := Group{Name: "runs/c", LeftOut: []LeftOut{{Folder: "runs/c/1", Reason: "not sealed"}}}
	refused(t, a, unsealed, tolerance, "B (runs/c) has no run that can be compared: runs/c/1: not sealed")
}

func refused(t *testing.T, a, b Group, o Options, want string) {
	t.Helper()
	_, err := Compare(a, b, o)
	var r *Refusal
	if !errors.As(err, &r) || !strings.Contains(r.Problem, want) || r.Remedy == "" {
		t.Errorf("%v, want %q with a hint", err, want)
	}
}

func TestZeroAndMissing(t *testing.T) {
	a, b := comparetest.Groups(fifteenPairs, 1.25)
	c := compared(t, a, edit(b, func(_ int, c *certificate.Certificate) {
		completed := *c.Rate.Scheduled * 9 / 10
		c.Rate.Completed = &completed
	}), tolerance)
	if m := row(t, c, "error share"); m.Ratio != nil || m.Decision != effect.Undetermined || *m.A != 0 || *m.B != 0.1 {
		t.Errorf("0 against 0.1: %+v", m)
	}
	if m := row(t, c, "error share"); m.Reason != "0 in 15 runs, and 0 has no ratio" {
		t.Errorf("0 against 0.1: %s", m.Reason)
	}
	has(t, c, "error share: 0 in every run of A, but a median of 10 % in B, which a ratio cannot show")

	// A pair without data on one side is skipped; without any data there is no ratio.
	c = compared(t, a, edit(b, func(i int, c *certificate.Certificate) {
		if i == 3 {
			c.Waits = nil
		}
		c.Ledger = nil
	}), tolerance)
	if m := row(t, c, "database commit"); m.Decision != effect.Equivalent || m.ValuesB[3] != nil {
		t.Errorf("one run without waits: %+v", m)
	}
	if m := row(t, c, "persist lag p99"); m.Ratio != nil || m.B != nil || m.A == nil || m.Reason != "no data to compare" {
		t.Errorf("no ledger: %+v", m)
	}
	// A class that was never sampled is 0, which is not "no data".
	c = compared(t, a, edit(b, func(_ int, c *certificate.Certificate) {
		c.Waits = slices.DeleteFunc(slices.Clone(c.Waits), func(w certificate.Wait) bool { return w.Class == "commit" })
	}), tolerance)
	if m := row(t, c, "database commit"); m.Ratio != nil || *m.B != 0 {
		t.Errorf("a class that disappears: %+v", m)
	}
	has(t, c, "database commit: 0 in every run of B, but a median of 25.0 ms/tx in A")
}

// Errors are compared by who noticed them and by class. One that a run did not have is 0 in
// it; a run in which no transaction was scheduled has no data.
func TestErrorsByClass(t *testing.T) {
	a, b := comparetest.Groups(fifteenPairs, 1)
	with := func(share float64, lacking int) func(int, *certificate.Certificate) {
		return func(i int, c *certificate.Certificate) {
			c.Errors = []certificate.Error{{Where: "service", Class: "deadlock", Count: 1, Share: &share}}
			if i == lacking {
				c.Errors = nil
			}
		}
	}
	c := compared(t, edit(a, with(0.01, -1)), edit(b, with(0.02, 3)), tolerance)
	if m := row(t, c, "service: deadlock"); m.Decision != effect.Changed || m.Direction != Worse || *m.Ratio != 2 || m.ValuesB[3] != nil {
		t.Errorf("%+v", m)
	}
	c = compared(t, a, edit(b, with(0.02, -1)), tolerance)
	if m := row(t, c, "service: deadlock"); m.Ratio != nil || *m.A != 0 || *m.B != 0.02 {
		t.Errorf("none in A: %+v", m)
	}
}

func TestSelected(t *testing.T) {
	a, b := comparetest.Groups("ABBA", 1)
	c := compared(t, a, b, Options{Tolerance: 0.03, Metrics: []string{Transaction, "generator CPU"}})
	var names []string
	for _, m := range c.Metrics {
		names = append(names, m.Name)
	}
	want := []string{"transaction p50", "transaction p95", "transaction p99", "transaction p99.9", "transaction mean", "generator CPU"}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Error(diff)
	}
	if c.Tested != 6 || c.Needed != 8 {
		t.Errorf("%d tested, %d needed", c.Tested, c.Needed)
	}
	refused(t, a, b, Options{Tolerance: 0.03, Metrics: []string{"transaction p42"}}, `no run has a metric or group "transaction p42"`)
}

// Runs of the same system are not found changed, in whatever order they are paired.
func TestNothingChangesByChance(t *testing.T) {
	a, b := comparetest.Groups(fifteenPairs, 1)
	rapid.Check(t, func(rt *rapid.T) {
		at := rapid.Permutation([]int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14}).Draw(rt, "order")
		mixed := Group{Name: b.Name}
		for i, from := range at {
			r := b.Runs[from]
			r.Certificate.Window = b.Runs[i].Certificate.Window
			mixed.Runs = append(mixed.Runs, r)
		}
		c, err := Compare(a, mixed, tolerance)
		if err != nil {
			rt.Fatal(err)
		}
		for _, m := range c.Metrics {
			if m.Decision == effect.Changed {
				rt.Fatalf("%+v", m)
			}
		}
	})
}

// A run that stands out is named, with its metric and by how much, and so is what would be
// decided without it. What both runs of a pair have in common does not stand out.
func TestOutlier(t *testing.T) {
	for _, unpaired := range []bool{false, true} {
		a, b := comparetest.Groups(fifteenPairs[:20], 1)
		bad := b.Runs[4].Folder
		b = edit(b, slower(4, 3))
		o := Options{Tolerance: 0.03, Unpaired: unpaired, Metrics: []string{"transaction p99"}}
		c := compared(t, a, b, o)
		if len(c.Outliers) != 1 || c.Outliers[0].Folder != bad || c.Outliers[0].Side != "b" || c.Outliers[0].Metrics[0].Metric != "transaction p99" {
			t.Fatalf("unpaired %v: %+v", unpaired, c.Outliers)
		}
		has(t, c, bad+" stands out: transaction p99 is ")
		has(t, c, "all decisions would be the same")
		if back := compared(t, b, a, o); len(back.Outliers) != 1 || back.Outliers[0].Side != "a" {
			t.Errorf("unpaired %v: exchanged: %+v", unpaired, back.Outliers)
		}
	}

	a, b := comparetest.Groups(fifteenPairs[:14], 1.25)
	clear := compared(t, a, b, Options{Tolerance: 0.03, Metrics: []string{"transaction p99"}})
	hasNot(t, clear, "stands out")
	c := compared(t, a, edit(b, slower(2, 0.3)), Options{Tolerance: 0.03, Metrics: []string{"transaction p99"}})
	if m := row(t, c, "transaction p99"); m.Decision != effect.Undetermined {
		t.Fatalf("one pair of seven falls: %+v", m)
	}
	if len(c.Outliers) != 1 || len(c.Outliers[0].Without) != 1 || c.Outliers[0].Without[0].Decision != effect.Changed {
		t.Errorf("%+v", c.Outliers)
	}
	has(t, c, "without its pair transaction p99 would be changed")

	a, b = comparetest.Groups(fifteenPairs[:14], 1)
	hasNot(t, compared(t, edit(a, slower(2, 3)), edit(b, slower(2, 3)), tolerance), "stands out")
}

// slower multiplies the p99 of one run.
func slower(run int, factor float64) func(int, *certificate.Certificate) {
	return func(i int, c *certificate.Certificate) {
		if i != run {
			return
		}
		c.Latency = maps.Clone(c.Latency)
		l := c.Latency[verdict.TransactionName]
		p99 := *l.P99 * factor
		l.P99 = &p99
		c.Latency[verdict.TransactionName] = l
	}
}
