// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"cmp"
	"maps"
	"slices"

	"assay.dev/assay/certificate"
	"assay.dev/assay/internal/judge/verdict"
	"assay.dev/assay/internal/spec"
)

// Groups of metrics, in the order of the table.
const (
	Rate        = "rate"
	Errors      = "errors"
	Transaction = "transaction"
	Endpoint    = "endpoint"
	Database    = "database"
	Resources   = "resources"
	Generator   = "generator"
	Ledger      = "ledger"
)

// Groups lists them.
var Groups = []string{Rate, Errors, Transaction, Endpoint, Database, Resources, Generator, Ledger}

// better is the direction in which a metric improves.
type better int

const (
	neither better = iota
	more
	less
)

// source is a metric of certificates; a nil value is "no data".
type source struct {
	group, name, unit string
	better            better
	read              func(certificate.Certificate) *float64
}

// sources are the metrics that any run has.
func sources(all []Run) []source {
	list := []source{
		{Rate, "achieved rate", "1/s", more, func(c certificate.Certificate) *float64 { return c.Rate.Achieved }},
		{Errors, "error share", "share", less, errorShare},
	}
	for _, name := range names(all, func(c certificate.Certificate) []verdict.Error { return c.Errors }, errorName) {
		list = append(list, source{Errors, name, "1/tx", less, func(c certificate.Certificate) *float64 { return errorsOf(c, name) }})
	}
	list = append(list, latency(Transaction, verdict.TransactionName, "p50", "p95", "p99", "p99.9", "mean")...)
	latencies := func(c certificate.Certificate) []string { return slices.Collect(maps.Keys(c.Latency)) }
	for _, name := range names(all, latencies, func(name string) string { return name }) {
		if name != verdict.TransactionName {
			list = append(list, latency(Endpoint, name, "p50", "p95", "p99")...)
		}
	}
	classes := names(all, ownWaits, func(w certificate.Wait) string { return w.Class })
	if len(classes) > 0 {
		list = append(list, source{Database, "database", "ms/tx", less, func(c certificate.Certificate) *float64 { return waited(c, "") }})
	}
	for _, class := range classes {
		list = append(list, source{Database, spec.WaitMetric(class), "ms/tx", less, func(c certificate.Certificate) *float64 { return waited(c, class) }})
	}
	resources := func(c certificate.Certificate) []certificate.Resource { return c.Resources }
	for _, name := range names(all, resources, func(r certificate.Resource) string { return r.Name }) {
		list = append(list, cost(all, name))
	}
	return append(
		list,
		source{Generator, "generator CPU", "share", neither, func(c certificate.Certificate) *float64 { return c.Generator.CPUShare }},
		source{Ledger, "persist lag p99", "ms", less, lag(func(l certificate.PersistLag) *float64 { return l.P99 })},
		source{Ledger, "persist lag max", "ms", less, lag(func(l certificate.PersistLag) *float64 { return l.Max })},
	)
}

// names are the distinct names of what any run has, sorted.
func names[T any](all []Run, of func(certificate.Certificate) []T, name func(T) string) []string {
	seen := map[string]bool{}
	for _, r := range all {
		for _, x := range of(r.Certificate) {
			seen[name(x)] = true
		}
	}
	return slices.Sorted(maps.Keys(seen))
}

// ownWaits are the waits without those of other clients than the load's.
func ownWaits(c certificate.Certificate) []certificate.Wait {
	return slices.DeleteFunc(slices.Clone(c.Waits), func(w certificate.Wait) bool { return w.Client != "" })
}

// latency is a source for each aggregate of one distribution.
func latency(group, name string, aggregates ...string) (list []source) {
	for _, aggregate := range aggregates {
		list = append(list, source{group, name + " " + aggregate, "ms", less, func(c certificate.Certificate) *float64 {
			l := c.Latency[name] // zero, that is without data, if the run has none
			return map[string]*float64{"p50": l.P50, "p95": l.P95, "p99": l.P99, "p99.9": l.P999, "mean": l.Mean}[aggregate]
		}})
	}
	return list
}

// errorName is the name of the errors of one class that one place noticed, such as
// "service: too many connections".
func errorName(e certificate.Error) string { return e.Where + ": " + e.Class }

// errorsOf is the number of these errors per transaction: 0 if none was noticed.
func errorsOf(c certificate.Certificate, name string) *float64 {
	if c.Errors == nil {
		return nil
	}
	i := slices.IndexFunc(c.Errors, func(e certificate.Error) bool { return errorName(e) == name })
	if i < 0 {
		return new(float64)
	}
	return c.Errors[i].Share
}

// errorShare is the share of scheduled transactions that were not completed.
func errorShare(c certificate.Certificate) *float64 {
	scheduled, completed := c.Rate.Scheduled, c.Rate.Completed
	if scheduled == nil || completed == nil || *scheduled == 0 {
		return nil
	}
	share := float64(*scheduled-*completed) / float64(*scheduled)
	return &share
}

// waited is the time per transaction in a class of waits, or in all of them (""). A class
// that was never sampled is 0; without samples there is no data.
func waited(c certificate.Certificate, class string) *float64 {
	if c.Waits == nil {
		return nil
	}
	total := 0.0
	for _, w := range ownWaits(c) {
		if class != "" && w.Class != class {
			continue
		}
		if w.MsPerTransaction == nil {
			return nil
		}
		total += *w.MsPerTransaction
	}
	return &total
}

// cost is the use of a resource per transaction.
func cost(all []Run, name string) source {
	of := func(c certificate.Certificate) certificate.Resource {
		i := slices.IndexFunc(c.Resources, func(r certificate.Resource) bool { return r.Name == name })
		if i < 0 {
			return certificate.Resource{}
		}
		return c.Resources[i]
	}
	s := source{Resources, name, "", less, func(c certificate.Certificate) *float64 { return of(c).PerTransaction }}
	for _, r := range all {
		s.unit = cmp.Or(of(r.Certificate).Unit, s.unit)
	}
	return s
}

func lag(of func(certificate.PersistLag) *float64) func(certificate.Certificate) *float64 {
	return func(c certificate.Certificate) *float64 {
		if c.Ledger == nil {
			return nil
		}
		return of(c.Ledger.PersistLagMs)
	}
}
