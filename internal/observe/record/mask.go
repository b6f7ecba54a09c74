// SPDX-License-Identifier: Apache-2.0

package record

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"assay.dev/assay/certificate"
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
	maxVariables   = 200  // variables of a database, or labels of a build
	maxInstruments = 2000 // instruments of a database; a server has 1,500
	maxName        = 200  // bytes of the name of one of these
)

func said(text string) string { return mask.Cut(text, maxSaid) }

func saidAll(texts []string) []string {
	all := changed(texts[:min(len(texts), maxLimitations)], func(text *string) { *text = mask.Cut(*text, maxLimitation) })
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

// changed is a list whose elements are changed.
func changed[T any](all []T, change func(*T)) []T {
	all = slices.Clone(all)
	for i := range all {
		change(&all[i])
	}
	return all
}

func (e Environment) masked() Environment {
	if d := e.Database; d != nil {
		shown := *d
		shown.Version, shown.Variables = mask.Shorten(d.Version, maxName), saidBy(d.Variables)
		shown.Instruments = changed(d.Instruments[:min(len(d.Instruments), maxInstruments)], func(name *string) { *name = mask.Cut(*name, maxName) })
		e.Database = &shown
	}
	if s := e.Service; s != nil {
		e.Service = &Service{Builds: changed(s.Builds, func(b *certificate.Build) { b.Metric, b.Labels = mask.Cut(b.Metric, maxName), saidBy(b.Labels) })}
	}
	return e
}

func (f Facts) masked() Facts {
	source, why, _ := strings.Cut(f.Stopped, " ")
	f.Stopped, f.Limitations = strings.TrimSuffix(source+" "+said(why), " "), saidAll(f.Limitations)
	f.Ledger.Reason, f.Ledger.Notes = said(f.Ledger.Reason), saidAll(f.Ledger.Notes)
	if f.Earlier != nil {
		earlier := *f.Earlier
		earlier.Unknown, f.Earlier = said(earlier.Unknown), &earlier
		earlier.Verdicts = changed(earlier.Verdicts, func(v *Verdicts) { v.Verdict = said(v.Verdict) })
	}
	f.Workers = changed(f.Workers, func(w *Worker) {
		w.Error, w.Logged, w.Thrown = said(w.Error), said(w.Logged), said(w.Thrown)
		if w.Pod != nil {
			pod := *w.Pod
			pod.Reason, pod.Message = mask.Shorten(pod.Reason, maxName), said(pod.Message)
			w.Pod = &pod
		}
	})
	f.Collectors = changed(f.Collectors, func(c *Collect) { c.Reason = said(c.Reason) })
	f.Faults = changed(f.Faults, func(fault *Fault) { fault.Error, fault.EndError = said(fault.Error), said(fault.EndError) })
	f.Invariants = changed(f.Invariants, func(v *Invariant) { v.Error = said(v.Error) })
	return f
}
