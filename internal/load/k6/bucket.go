package k6

import "assay.dev/assay/internal/observe/metric"

// bucket is one second so far: values and histograms by series.
type bucket struct {
	values  []float64
	hists   []*metric.Hist
	touched []bool
	// examples are exemplars by series, few.
	examples map[int]*kept
}

func (b *bucket) grow(i int) {
	for len(b.values) <= i {
		b.values, b.hists, b.touched = append(b.values, 0), append(b.hists, nil), append(b.touched, false)
	}
	b.touched[i] = true
}

func (b *bucket) count(i int, v float64) {
	b.grow(i)
	b.values[i] += v
}

func (b *bucket) set(i int, v float64) {
	b.grow(i)
	b.values[i] = v
}

func (b *bucket) observe(i int, v float64) {
	b.grow(i)
	if b.hists[i] == nil {
		b.hists[i] = &metric.Hist{}
	}
	b.hists[i].Record(v, 1)
}
