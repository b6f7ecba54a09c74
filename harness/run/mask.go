package run

import (
	"slices"

	"assay/harness/mask"
	"assay/harness/observe/metric"
	"assay/harness/spec"
)

// maskForeign masks the secrets of this process in the labels of frames that other programs
// have made: the service, and what sends OTLP. Workers mask their own. A word that the
// profile selects by is left, even if it is a password too.
func (r *run) maskForeign(frames []metric.Frame) (masked []metric.Frame, changed bool) {
	for i, f := range frames {
		if !metric.IsForeign(f.Source) && f.Source != metric.SourceService {
			continue
		}
		for j, p := range f.Points {
			labels, series := r.maskLabels(p.Series.Labels)
			examples := false
			for k, e := range p.Exemplars {
				of, is := r.maskLabels(e.Labels)
				if !is {
					continue
				}
				if !examples {
					p.Exemplars, examples = slices.Clone(p.Exemplars), true
				}
				p.Exemplars[k].Labels = of
			}
			if !series && !examples {
				continue
			}
			if !changed {
				frames, changed = slices.Clone(frames), true
			}
			p.Series.Labels = labels
			frames[i].Points = slices.Clone(frames[i].Points)
			frames[i].Points[j] = p
		}
	}
	return frames, changed
}

func (r *run) maskLabels(labels []metric.Label) (masked []metric.Label, changed bool) {
	for i, l := range labels {
		value := mask.Text(l.Value)
		if value == l.Value || r.selects(l.Value) {
			continue
		}
		if !changed {
			labels, changed = slices.Clone(labels), true
		}
		labels[i].Value = value
	}
	return labels, changed
}

// selects reports whether the profile has SLOs on this value of a label, or a scenario of
// this name.
func (r *run) selects(value string) bool {
	for _, p := range r.Profile.PerFlow() {
		if value == p.Name || value == p.Flow {
			return true
		}
	}
	return slices.ContainsFunc(r.Profile.AllSLOs(), func(s spec.SLO) bool {
		return slices.ContainsFunc(s.Selector, func(l metric.Label) bool { return l.Value == value })
	})
}
