package service

import (
	"slices"
	"strconv"
	"strings"

	dto "github.com/prometheus/client_model/go"

	"assay.dev/assay/internal/observe/metric"
)

// withinBound is the prefix of a reading's keys that count the statements within a bucket's
// bound, which follows in s. They are no metrics of the catalogue, and not sent.
const withinBound = "statements within "

// maxBounds bounds the buckets of a histogram that are read.
const maxBounds = 1000

// countWithin adds a histogram's cumulative counts to a reading. unit is that of its
// bounds, in ms.
func (r reading) countWithin(m *dto.Metric, unit float64) {
	buckets := m.GetHistogram().GetBucket()
	if len(buckets) > maxBounds {
		return
	}
	for _, b := range buckets {
		r[withinBound+strconv.FormatFloat(b.GetUpperBound()*unit, 'g', -1, 64)] += b.GetCumulativeCountFloat() + float64(b.GetCumulativeCount())
	}
}

// fastest is the least bound within which the fastest tenth of a second's statements ended;
// false if there was no statement, or there are no buckets.
func (r reading) fastest() (ms float64, ok bool) {
	var bounds []float64
	for key := range r {
		if text, is := strings.CutPrefix(key, withinBound); is {
			if ms, err := strconv.ParseFloat(text, 64); err == nil {
				bounds = append(bounds, ms)
			}
		}
	}
	slices.Sort(bounds)
	all := r[metric.ServiceQueries]
	for _, ms := range bounds {
		if n := r[withinBound+strconv.FormatFloat(ms, 'g', -1, 64)]; all > 0 && n >= metric.FastestShare*all {
			return ms, ms >= 0 && ms < 1e9 // not the bucket of all
		}
	}
	return 0, false
}
