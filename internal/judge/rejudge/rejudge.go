// SPDX-License-Identifier: Apache-2.0

package rejudge

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"assay.dev/assay/internal/hint"
	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/observe/record"
	"assay.dev/assay/internal/plan"
	"assay.dev/assay/internal/spec"
)

// Open reads a sealed run folder, to be judged by the profile of the same name in
// thresholds.
func Open(dir string, thresholds spec.File) (record.Run, error) {
	r, err := record.Open(dir)
	if err != nil {
		return record.Run{}, err
	}
	p, err := thresholds.Profile(r.Plan.Profile.Name)
	if err != nil {
		return record.Run{}, err
	}
	if err := sameFlows(r.Plan.Profile, p); err != nil {
		return record.Run{}, err
	}
	return Apply(r, p, record.Digest{Path: thresholds.Path, SHA256: thresholds.Digest}), nil
}

// Apply replaces the SLOs and rules of a record by those of a profile. Where the workers
// counted late slots against another limit than that of these SLOs, their counter is
// removed from the timeline; the histogram of lags is then used.
func Apply(r record.Run, p spec.Profile, file record.Digest) (rejudged record.Run) {
	rejudged = r
	rejudged.Rejudged = &file
	rejudged.Plan.Profile.Common, rejudged.Plan.Profile.Rules = p.Common, p.Rules
	rejudged.Plan.Load.DisplacedAfter = plan.DisplacedAfter(p.AllSLOs())
	recount := rejudged.Plan.Load.DisplacedAfter != r.Plan.Load.DisplacedAfter
	rejudged.Plan.Profile.Flows, rejudged.Plan.Load.Flows = slices.Clone(r.Plan.Profile.Flows), slices.Clone(r.Plan.Load.Flows)
	for i := range rejudged.Plan.Profile.Flows {
		rejudged.Plan.Profile.Flows[i].SLOs = p.Flows[i].SLOs
	}
	for i := range rejudged.Plan.Load.Flows {
		of, before := &rejudged.Plan.Load.Flows[i], r.Plan.Load.Flows[i].DisplacedAfter
		of.DisplacedAfter = plan.DisplacedAfter(p.Flows[i].SLOs)
		recount = recount || of.DisplacedAfter != before
	}
	kept := []string{"the load", "the scenario", "the timeout"}
	if !maps.Equal(p.Gauges, r.Plan.Profile.Gauges) {
		kept = append(kept, "the gauges")
	}
	if !reflect.DeepEqual(p.Consumer, r.Plan.Profile.Consumer) {
		kept = append(kept, "the consumer")
	}
	last := len(kept) - 1
	rejudged.Facts.Limitations = append(slices.Clone(r.Facts.Limitations), fmt.Sprintf("re-judged with %s: %s and %s are the run's", file.Path, strings.Join(kept[:last], ", "), kept[last]))
	if recount && r.Timeline != nil {
		rejudged.Timeline = r.Timeline.Without(metric.GeneratorDisplaced)
	}
	return rejudged
}

// sameFlows refuses thresholds for other flows than those of the run.
func sameFlows(run, p spec.Profile) error {
	names := func(p spec.Profile) (all []string) {
		for _, f := range p.Flows {
			all = append(all, f.Name)
		}
		return all
	}
	if is, want := names(p), names(run); !slices.Equal(is, want) {
		return hint.With(fmt.Errorf("profile %s: the run had other flows than the thresholds: %s", run.Name, cmp.Or(strings.Join(want, ", "), "none")),
			"name thresholds whose profile has these flows, in this order")
	}
	return nil
}
