package metric

import (
	"testing"

	"pgregory.net/rapid"
)

// Packing is lossless, and merging a packed histogram equals merging the histogram.
func TestPackedEqualsTheHistogram(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := hists.Draw(t, "a"), hists.Draw(t, "b")
		packed := b.Pack()
		alone := &Hist{}
		alone.MergePacked(&packed)
		if err := alone.check(); err != nil {
			t.Fatal(err)
		}
		if diff := sameHist(b, alone); diff != "" || packed.Count() != b.Count() {
			t.Fatalf("%d observations: %s", packed.Count(), diff)
		}
		got := a.Clone()
		got.MergePacked(&packed)
		if diff := sameHist(merged(a, b), got); diff != "" {
			t.Fatal(diff)
		}
	})
}

// A sum that is set replaces the packed one.
func TestPackedSumMayBeSet(t *testing.T) {
	packed := recorded([]float64{1, 2, 4}).Pack()
	packed.Sum = 7.5
	h := recorded([]float64{0.5})
	h.MergePacked(&packed)
	if h.Sum() != 8 {
		t.Errorf("sum %g, want 8", h.Sum())
	}
}
