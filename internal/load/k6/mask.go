package k6

import (
	"regexp"
	"strings"

	"go.k6.io/k6/v2/metrics"

	"assay.dev/assay/internal/mask"
)

// credentials match a URL in which k6 has replaced user and password. It counts their
// characters as they were before percent encoding, and leaves the rest of them.
var credentials = regexp.MustCompile(`://\*\*\*\*(:\*\*\*\*)?[^@/?#]*@`)

// maskTag masks the value of a tag, or the name of a metric.
func maskTag(value string) string {
	value = mask.Text(value)
	if strings.Contains(value, "://****") {
		value = credentials.ReplaceAllString(value, "://***@")
	}
	return value
}

// masker masks samples on their way to further outputs, which the user has added and which
// write tags as the script sets them.
type masker struct {
	tags    map[*metrics.TagSet]*metrics.TagSet
	metrics map[*metrics.Metric]*metrics.Metric
}

func newMasker() *masker {
	return &masker{map[*metrics.TagSet]*metrics.TagSet{}, map[*metrics.Metric]*metrics.Metric{}}
}

// mask changes the containers in place: k6 hands the same ones to each output, in the order
// of the command line, and this program's is the first one.
func (m *masker) mask(containers []metrics.SampleContainer) {
	for i, c := range containers {
		all, changed := c.GetSamples(), false
		for j := range all {
			changed = m.sample(&all[j]) || changed
		}
		if changed {
			containers[i] = metrics.Samples(all)
		}
	}
}

// sample reports whether it has changed the sample.
func (m *masker) sample(s *metrics.Sample) (changed bool) {
	if tags := m.maskTags(s.Tags); tags != s.Tags {
		s.Tags, changed = tags, true
	}
	if of := m.maskMetric(s.Metric); of != s.Metric {
		s.Metric, changed = of, true
	}
	for key, value := range s.Metadata {
		if maskTag(key) != key || maskTag(value) != value {
			s.Metadata, changed = maskAll(s.Metadata), true
			break
		}
	}
	return changed
}

func (m *masker) maskTags(tags *metrics.TagSet) *metrics.TagSet {
	if masked, known := m.tags[tags]; known {
		return masked
	}
	if len(m.tags) >= minCached {
		clear(m.tags)
	}
	masked := tags
	for key, value := range tags.Map() {
		if maskTag(key) != key {
			masked = masked.Without(key)
		}
		if maskTag(key) != key || maskTag(value) != value {
			masked = masked.With(maskTag(key), maskTag(value))
		}
	}
	m.tags[tags] = masked
	return masked
}

func (m *masker) maskMetric(of *metrics.Metric) *metrics.Metric {
	masked, known := m.metrics[of]
	if !known {
		masked = of
		if name := maskTag(of.Name); name != of.Name {
			masked = &metrics.Metric{Name: name, Type: of.Type, Contains: of.Contains, Sink: of.Sink}
		}
		m.metrics[of] = masked
	}
	return masked
}

func maskAll(pairs map[string]string) map[string]string {
	masked := map[string]string{}
	for key, value := range pairs {
		masked[maskTag(key)] = maskTag(value)
	}
	return masked
}
