package rejudge

import (
	"fmt"
	"maps"
	"slices"

	"assay/harness/observe/metric"
	"assay/harness/observe/record"
	"assay/harness/plan"
	"assay/harness/spec"
)

// Open reads a sealed run folder, to be judged by the profile of the same name in the
// file.
func Open(dir string, thresholds spec.File) (record.Run, error) {
	r, err := record.Open(dir)
	if err != nil {
		return record.Run{}, err
	}
	p, err := thresholds.Profile(r.Plan.Profile.Name)
	if err != nil {
		return record.Run{}, err
	}
	as, recount := Apply(r, p, record.Digest{Path: thresholds.Path, SHA256: thresholds.Digest})
	if recount {
		if as.Timeline, err = uncounted(dir); err != nil {
			return record.Run{}, err
		}
	}
	return as, nil
}

// Apply replaces the SLOs and rules of a record by those of a profile. recount: the
// workers counted late slots against another limit than that of these SLOs, so that
// their counter must not be in the timeline, and the histogram of all lags is used.
func Apply(r record.Run, p spec.Profile, file record.Digest) (as record.Run, recount bool) {
	as = r
	as.Rejudged = &file
	as.Plan.Profile.SLOs, as.Plan.Profile.Rules = p.SLOs, p.Rules
	as.Plan.Load.DisplacedAfter = plan.DisplacedAfter(p.SLOs)
	kept := "the load, the scenario and the timeout"
	if !maps.Equal(p.Gauges, r.Plan.Profile.Gauges) {
		kept = "the load, the scenario, the timeout and the gauges"
	}
	as.Facts.Limitations = append(slices.Clone(r.Facts.Limitations), fmt.Sprintf("re-judged with %s: %s are the run's", file.Path, kept))
	return as, as.Plan.Load.DisplacedAfter != r.Plan.Load.DisplacedAfter
}

// uncounted is the timeline without the workers' counter of late slots.
func uncounted(dir string) (*record.Timeline, error) {
	t := record.NewTimeline()
	err := record.EachFrame(dir, func(f metric.Frame) error {
		f.Points = slices.DeleteFunc(f.Points, func(p metric.Point) bool { return p.Series.Name == metric.GeneratorDisplaced })
		t.Add(f)
		return nil
	})
	return t, err
}
