// SPDX-License-Identifier: Apache-2.0

package record

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"assay.dev/assay/internal/mask"
)

// What others have said, such as servers, drivers, scripts and the users themselves, can
// hold a secret of this process, and be as long as a script's error in one line. Words of the
// record's own are left, as rules read them: a password may be one of them.

// Bounds of what others have said, with which the documents of the largest run can be read.
const (
	maxSaid        = 1000    // bytes, of which JSON may make six each
	maxLimitation  = 4 << 10 // bytes: some have the SQL that mends what they are about
	maxLimitations = 100
	maxVariables   = 200  // of a database, or labels of a build
	maxInstruments = 2000 // of which a server has 1,500
	maxName        = 200  // bytes of a name of these
)

func said(text string) string { return mask.Cut(text, maxSaid) }

func saidAll(texts []string) []string {
	all := slices.Clone(texts[:min(len(texts), maxLimitations)])
	for i := range all {
		all[i] = mask.Cut(all[i], maxLimitation)
	}
	if more := len(texts) - len(all); more > 0 {
		all = append(all, fmt.Sprintf("%d more limitations are not recorded", more))
	}
	return all
}

func saidBy(values map[string]string) map[string]string {
	if values == nil {
		return nil
	}
	all, names := map[string]string{}, slices.Sorted(maps.Keys(values))
	for _, name := range names[:min(len(names), maxVariables)] {
		all[mask.Cut(name, maxName)] = said(values[name])
	}
	return all
}

func (e Environment) masked() Environment {
	if d := e.Database; d != nil {
		shown := *d
		shown.Version, shown.Variables = mask.Shorten(d.Version, maxName), saidBy(d.Variables)
		shown.Instruments = slices.Clone(d.Instruments[:min(len(d.Instruments), maxInstruments)])
		for i, name := range shown.Instruments {
			shown.Instruments[i] = mask.Cut(name, maxName)
		}
		e.Database = &shown
	}
	if s := e.Service; s != nil {
		builds := slices.Clone(s.Builds)
		for i := range builds {
			builds[i].Metric, builds[i].Labels = mask.Cut(builds[i].Metric, maxName), saidBy(builds[i].Labels)
		}
		e.Service = &Service{Builds: builds}
	}
	return e
}

func (f Facts) masked() Facts {
	source, why, _ := strings.Cut(f.Stopped, " ")
	f.Stopped, f.Limitations = strings.TrimSuffix(source+" "+said(why), " "), saidAll(f.Limitations)
	f.Ledger.Reason = said(f.Ledger.Reason)
	f.Workers = slices.Clone(f.Workers)
	for i := range f.Workers {
		w := &f.Workers[i]
		w.Error, w.Logged = said(w.Error), said(w.Logged)
		if w.Pod != nil {
			pod := *w.Pod
			pod.Reason, pod.Message = mask.Shorten(pod.Reason, maxName), said(pod.Message)
			w.Pod = &pod
		}
	}
	f.Collectors = slices.Clone(f.Collectors)
	for i := range f.Collectors {
		f.Collectors[i].Reason = said(f.Collectors[i].Reason)
	}
	f.Faults = slices.Clone(f.Faults)
	for i := range f.Faults {
		f.Faults[i].Error, f.Faults[i].EndError = said(f.Faults[i].Error), said(f.Faults[i].EndError)
	}
	f.Invariants = slices.Clone(f.Invariants)
	for i := range f.Invariants {
		f.Invariants[i].Error = said(f.Invariants[i].Error)
	}
	return f
}
