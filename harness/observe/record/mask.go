package record

import (
	"slices"
	"strings"

	"assay/harness/mask"
)

// What others have said, such as servers, drivers, scripts and the users themselves, can
// hold a secret of this process. Words of the record's own are left, as rules read them: a
// password may be one of them.

func (e Environment) masked() Environment {
	if d := e.Database; d != nil {
		shown := *d
		shown.Variables = mask.Values(d.Variables)
		e.Database = &shown
	}
	if s := e.Service; s != nil {
		builds := slices.Clone(s.Builds)
		for i := range builds {
			builds[i].Labels = mask.Values(builds[i].Labels)
		}
		e.Service = &Service{builds}
	}
	return e
}

func (f Facts) masked() Facts {
	source, why, _ := strings.Cut(f.Stopped, " ")
	f.Stopped, f.Limitations = strings.TrimSuffix(source+" "+mask.Text(why), " "), mask.Texts(f.Limitations)
	f.Ledger.Reason = mask.Text(f.Ledger.Reason)
	f.Workers = slices.Clone(f.Workers)
	for i := range f.Workers {
		w := &f.Workers[i]
		w.Error, w.Logged = mask.Text(w.Error), mask.Text(w.Logged)
		if w.Pod != nil {
			pod := *w.Pod
			pod.Message = mask.Text(pod.Message)
			w.Pod = &pod
		}
	}
	f.Collectors = slices.Clone(f.Collectors)
	for i := range f.Collectors {
		f.Collectors[i].Reason = mask.Text(f.Collectors[i].Reason)
	}
	f.Faults = slices.Clone(f.Faults)
	for i := range f.Faults {
		f.Faults[i].Error, f.Faults[i].EndError = mask.Text(f.Faults[i].Error), mask.Text(f.Faults[i].EndError)
	}
	f.Invariants = slices.Clone(f.Invariants)
	for i := range f.Invariants {
		f.Invariants[i].Error = mask.Text(f.Invariants[i].Error)
	}
	return f
}
