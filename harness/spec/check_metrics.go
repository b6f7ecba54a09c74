package spec

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"assay/harness/observe/metric"
)

// CheckMetrics checks the SLOs and aborts against the metrics that exist once
// the script has initialised: k6's, ours, and those registered, whose type is
// "trend", "rate", "counter" or "gauge". Only now can a misspelt name be told
// from a script's own metric. The error is Errors: what the script registers
// wrongly, then the rest by its line where the profile comes from Decode.
func (p Profile) CheckMetrics(registered map[string]string) error {
	types := maps.Clone(builtin)
	var all Errors
	for _, name := range slices.Sorted(maps.Keys(registered)) {
		if problem := taken(name, registered[name]); problem != "" {
			all = append(all, &Error{Place: p.place("scenario"), Problem: problem, Hint: "give the script's metric another name"})
			continue
		}
		types[name] = registered[name]
	}
	types[LedgerMetric], types[PersistLagMetric] = LedgerMetric, PersistLagMetric
	types[metric.ReplicaLag], types[metric.BinlogReaderLag] = readerLag, readerLag
	all = append(all, p.misfits(types)...)
	if len(all) == 0 {
		return nil
	}
	return all
}

// taken says why a script may not register a metric; empty where it may.
func taken(name, typ string) (problem string) {
	known, builtIn := builtin[name]
	switch {
	case slices.Contains(metric.OfWorkers, name) || kind(name) == readerLag:
		return fmt.Sprintf("the script registers %s, which is a metric of this program", quote(name))
	case builtIn && known != typ:
		return fmt.Sprintf("the script registers %s as a %s, but it is a %s of k6", quote(name), typ, known)
	}
	return ""
}

// misfits are the SLOs and aborts whose metric does not exist or is of another
// type, in the order of the file. What is wrong with a metric itself is told
// once, however many conditions there are on it.
func (p Profile) misfits(types map[string]string) (all Errors) {
	type misfit struct {
		at  Position
		err *Error
	}
	var found []misfit
	told := map[string]bool{}
	tell := func(metric string, at Position, e Error) {
		if key := metric + "\n" + e.Problem; !told[key] {
			told[key] = true
			e.Path, e.Line = at.Path, at.Line
			found = append(found, misfit{at, &e})
		}
	}
	for _, s := range p.SLOs {
		typ, ok := types[s.Metric]
		if !ok {
			tell(s.MetricText(), s.At, p.unknownMetric(s.Metric, "slo", types, trend, rate, LedgerMetric, PersistLagMetric, readerLag))
		} else if problem := s.fits(typ); problem != "" {
			tell(s.MetricText(), s.At, Error{Place: p.place("slo", s.MetricText()), Problem: problem})
		}
	}
	for _, a := range p.Abort {
		typ, ok := types[a.Metric]
		if !ok {
			tell("abort", a.At, p.unknownMetric(a.Metric, "abort", types, rate))
		} else if typ != rate {
			tell("abort", a.At, Error{Place: p.place("abort"), Problem: fmt.Sprintf("%s is a %s: an abort takes a rate", a.Metric, typ)})
		}
	}
	slices.SortStableFunc(found, func(a, b misfit) int { return cmp.Compare(a.at.offset, b.at.offset) })
	for _, m := range found {
		all = append(all, m.err)
	}
	return all
}

// unknownMetric names the nearest metric of the types that could stand there.
func (p Profile) unknownMetric(name, key string, types map[string]string, fit ...string) Error {
	fitting := slices.DeleteFunc(slices.Sorted(maps.Keys(types)), func(n string) bool { return !slices.Contains(fit, types[n]) })
	return Error{
		Place: p.place(key), Problem: unknown("metric", name, fitting),
		Hint: fmt.Sprintf("known after %s initialised: %s", p.Scenario, strings.Join(fitting, ", ")),
	}
}
