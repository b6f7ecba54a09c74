package ledger_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"assay.dev/assay/internal/observe/ledger"
)

// entries have few identities, so that both sides often share some.
var entries = rapid.SliceOfN(rapid.Custom(func(t *rapid.T) ledger.Entry {
	return ledger.Entry{
		Hash:   ledger.HashOf("run", rapid.StringMatching("[a-h]").Draw(t, "id")),
		Millis: rapid.Int64Range(1_750_000_000_000, 1_800_000_000_000).Draw(t, "millis"),
	}
}), 0, 20)

// compare compares the two sides.
func compare(acknowledged, persisted []ledger.Entry) ledger.Comparison {
	m := ledger.NewMatcher()
	for _, e := range acknowledged {
		m.Add(ledger.Acknowledged, e)
	}
	for _, e := range persisted {
		m.Add(ledger.Persisted, e)
	}
	return m.Comparison()
}

// withoutSeconds leaves the series over time and the dates to tests of their own.
var withoutSeconds = cmpopts.IgnoreFields(ledger.Comparison{}, "BySecond", "Dates")

// count is the number of entries of each identity.
func count(all []ledger.Entry) map[ledger.Hash]int64 {
	n := map[ledger.Hash]int64{}
	for _, e := range all {
		n[e.Hash]++
	}
	return n
}

func TestCompareIgnoresOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		acks, rows := entries.Draw(t, "acknowledged"), entries.Draw(t, "persisted")
		want := compare(acks, rows)
		seed := rapid.Uint64().Draw(t, "seed")
		for _, side := range []*[]ledger.Entry{&acks, &rows} {
			*side = slices.Clone(*side)
			rand.New(rand.NewPCG(seed, 1)).Shuffle(len(*side), func(i, j int) { (*side)[i], (*side)[j] = (*side)[j], (*side)[i] })
		}
		if diff := cmp.Diff(want, compare(acks, rows)); diff != "" {
			t.Fatal(diff)
		}
	})
}

// Nothing missing and nothing duplicated means the same multiset on both
// sides, except identities that were persisted once and never acknowledged: their
// client gave up before the response.
func TestCleanMeansEqual(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		acks, rows := entries.Draw(t, "acknowledged"), entries.Draw(t, "persisted")
		if rapid.Bool().Draw(t, "nearly equal") {
			rows = slices.Clone(acks)
			for range rapid.IntRange(0, 2).Draw(t, "changes") {
				rows = append(rows, entries.Draw(t, "more")...)
				rows = rows[min(len(rows), rapid.IntRange(0, 2).Draw(t, "fewer")):]
			}
		}
		c := compare(acks, rows)
		acked, stored := count(acks), count(rows)
		equal := true
		for h, n := range acked {
			equal = equal && stored[h] == n
		}
		unacknowledged := int64(0)
		for h, n := range stored {
			if acked[h] == 0 {
				unacknowledged++
				equal = equal && n == 1
			}
		}
		if clean := c.Missing == 0 && c.Duplicated == 0; clean != equal {
			t.Fatalf("missing %d, duplicated %d, but equal is %t", c.Missing, c.Duplicated, equal)
		}
		if c.Unacknowledged != unacknowledged || c.Acknowledged != int64(len(acks)) || c.Persisted != int64(len(rows)) {
			t.Fatalf("%+v, want %d acknowledged, %d persisted, %d unacknowledged", c, len(acks), len(rows), unacknowledged)
		}
		// Every row and every acknowledgement is accounted for.
		if c.Acknowledged-c.Missing+c.Duplicated+c.Unacknowledged != c.Persisted {
			t.Fatalf("%+v: acknowledged - missing + duplicated + unacknowledged is not persisted", c)
		}
	})
}

// A loss and a duplicate never cancel: each adds one to its count, whatever else
// happened.
func TestLossAndDuplicateNeverCancel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		acks, rows := entries.Draw(t, "acknowledged"), entries.Draw(t, "persisted")
		before := compare(acks, rows)
		lost, doubled := ledger.HashOf("run", "lost"), ledger.HashOf("run", "doubled")
		acks = append(slices.Clone(acks), ledger.Entry{Hash: lost, Millis: 1}, ledger.Entry{Hash: doubled, Millis: 1})
		rows = append(slices.Clone(rows), ledger.Entry{Hash: doubled, Millis: 2}, ledger.Entry{Hash: doubled, Millis: 3})
		after := compare(acks, rows)
		if after.Missing != before.Missing+1 || after.Duplicated != before.Duplicated+1 {
			t.Fatalf("before %+v, after %+v", before, after)
		}
	})
}

func TestCompare(t *testing.T) {
	entry := func(id string, millis int64) ledger.Entry {
		return ledger.Entry{Hash: ledger.HashOf("r", id), Millis: millis}
	}
	for name, c := range map[string]struct {
		acks, rows []ledger.Entry
		want       ledger.Comparison
	}{
		"nothing": {},
		"one of each": {
			[]ledger.Entry{entry("ok", 1000), entry("lost", 1001), entry("twice", 1002)},
			[]ledger.Entry{entry("ok", 1040), entry("twice", 1000), entry("twice", 1009), entry("late", 1010)},
			ledger.Comparison{Acknowledged: 3, Persisted: 4, Missing: 1, Duplicated: 1, Unacknowledged: 1, Lags: map[int64]int64{7: 1, 40: 1}},
		},
		"acknowledged twice, persisted twice": {
			[]ledger.Entry{entry("a", 1000), entry("a", 1001)},
			[]ledger.Entry{entry("a", 990), entry("a", 991)},
			ledger.Comparison{Acknowledged: 2, Persisted: 2, Repeated: 1, Lags: map[int64]int64{0: 1}},
		},
		"of two transactions, a minute apart": {
			[]ledger.Entry{entry("a", 61_000), entry("a", 1000)},
			[]ledger.Entry{entry("a", 1003), entry("a", 61_005)},
			ledger.Comparison{Acknowledged: 2, Persisted: 2, Repeated: 1, Lags: map[int64]int64{5: 1}},
		},
		"acknowledged three times, persisted once": {
			[]ledger.Entry{entry("a", 1000), entry("a", 1001), entry("a", 1002)},
			[]ledger.Entry{entry("a", 1001)},
			ledger.Comparison{Acknowledged: 3, Persisted: 1, Missing: 2, Repeated: 2, Unclear: 2, Lags: map[int64]int64{1: 1}},
		},
		"acknowledged twice, never persisted": {
			[]ledger.Entry{entry("a", 1000), entry("a", 1001)},
			nil,
			ledger.Comparison{Acknowledged: 2, Missing: 2, Repeated: 1, Unclear: 1},
		},
		"never acknowledged, persisted twice": {
			nil,
			[]ledger.Entry{entry("a", 1), entry("a", 2)},
			ledger.Comparison{Persisted: 2, Duplicated: 1, Unacknowledged: 1},
		},
	} {
		if diff := cmp.Diff(c.want, compare(c.acks, c.rows), withoutSeconds); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestLagIsByRank(t *testing.T) {
	if _, ok := (ledger.Comparison{}).Lag(1); ok {
		t.Error("an empty comparison has a lag")
	}
	c := ledger.Comparison{Lags: map[int64]int64{1: 1, 2: 1, 3: 1, 4: 1}}
	for q, want := range map[float64]float64{0: 1, 0.25: 1, 0.26: 2, 0.99: 4, 1: 4} {
		if got, ok := c.Lag(q); !ok || got != want {
			t.Errorf("lag of %g is %g, want %g", q, got, want)
		}
	}
}

// A lag of the counts is the same as of a sorted list of all lags.
func TestLagsAreExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all := rapid.SliceOfN(rapid.Int64Range(0, 50), 1, 200).Draw(t, "lags")
		c := ledger.Comparison{Lags: map[int64]int64{60: 0}}
		for _, millis := range all {
			c.Lags[millis]++
		}
		slices.Sort(all)
		q := rapid.Float64Range(0, 1).Draw(t, "q")
		rank := max(1, int(math.Ceil(q*float64(len(all)))))
		if got, ok := c.Lag(q); !ok || got != float64(all[rank-1]) || c.Matched() != int64(len(all)) {
			t.Fatalf("lag of %g is %g, %t, want %d", q, got, ok, all[rank-1])
		}
	})
}

// The hash depends on the run, and on where the run id ends.
func TestHashSeparatesRunAndIdentity(t *testing.T) {
	if ledger.HashOf("run", "1x") == ledger.HashOf("run1", "x") || ledger.HashOf("a", "x") == ledger.HashOf("b", "x") {
		t.Error("two identities have the same hash")
	}
}

// Each acknowledged identity is in the second of its first acknowledgement, with its lag
// or as missing: the seconds add up to the whole.
func TestSecondsAddUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := compare(entries.Draw(t, "acknowledged"), entries.Draw(t, "persisted"))
		var persisted, missing int64
		longest := 0.0
		for _, s := range c.BySecond {
			persisted, missing, longest = persisted+s.Persisted, missing+s.Missing, max(longest, s.Max)
			if s.P50 > s.P99 || s.P99 > s.Max {
				t.Fatalf("%+v is not ordered", s)
			}
		}
		if lag, _ := c.Lag(1); persisted != c.Matched() || missing > c.Missing || longest != lag {
			t.Fatalf("seconds have %d persisted, %d missing, longest lag %g of %+v", persisted, missing, longest, c)
		}
	})
	at := func(id string, millis int64) ledger.Entry {
		return ledger.Entry{Hash: ledger.HashOf("r", id), Millis: millis}
	}
	c := compare([]ledger.Entry{at("a", 1000), at("b", 1999), at("c", 2000)}, []ledger.Entry{at("a", 1500), at("b", 2000)})
	want := map[int64]ledger.Second{1: {Persisted: 2, P50: 1, P99: 500, Max: 500}, 2: {Missing: 1}}
	if diff := cmp.Diff(want, c.BySecond, cmpopts.EquateApprox(0.005, 0)); diff != "" {
		t.Error(diff)
	}
}

// Dates are those of the identities that have both, and rows are moved before they are compared.
func TestDates(t *testing.T) {
	m := ledger.NewMatcher()
	m.Shift = map[int]int64{0: -3_600_000}
	at := func(id string, millis int64) ledger.Entry {
		return ledger.Entry{Hash: ledger.HashOf("r", id), Millis: millis}
	}
	for _, e := range []ledger.Entry{at("a", 10_000), at("b", 20_000), at("lost", 5_000)} {
		m.Add(ledger.Acknowledged, e)
	}
	for _, e := range []ledger.Entry{at("a", 9_700-3_600_000), at("b", 20_500-3_600_000), at("b", 20_100-3_600_000), at("other", 1)} {
		m.Add(ledger.Persisted, e)
	}
	c := m.Comparison()
	want := ledger.Dates{FirstAck: 10_000, FirstRow: 9_700, LastRow: 20_500, Lead: 300, Shift: -3_600_000}
	if c.Dates != want {
		t.Errorf("%+v, want %+v", c.Dates, want)
	}
	if lag, _ := c.Lag(1); lag != 500 {
		t.Errorf("the longest lag is %g ms", lag)
	}
}
