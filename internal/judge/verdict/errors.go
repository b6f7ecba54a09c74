// SPDX-License-Identifier: Apache-2.0

package verdict

import (
	"cmp"
	"slices"

	"assay.dev/assay/internal/observe/metric"
)

// databaseErrors are the status counters of databases that count errors, by class. They
// count those of all clients of the server.
var databaseErrors = []struct{ counter, class string }{
	{"Connection_errors_max_connections", metric.ErrorTooMany},
	{"Aborted_connects", metric.ErrorAbortedConnect},
	{"Aborted_clients", metric.ErrorAbortedClient},
	{"Innodb_deadlocks", metric.ErrorDeadlock},
	{"deadlocks", metric.ErrorDeadlock}, // PostgreSQL
	{"wsrep_local_cert_failures", metric.ErrorCertification},
	{"wsrep_local_bf_aborts", metric.ErrorOtherNode},
}

// whyFailed is the class of errors that clients noticed most often in transactions that
// failed; empty: none.
func whyFailed(all []Error) (class string) {
	most := int64(0)
	for _, x := range all {
		inTime := x.Class != metric.ErrorTransaction && x.Class != metric.ErrorNotStarted
		if x.Where == metric.AtClient && inTime && x.Count > most {
			class, most = x.Class, x.Count
		}
	}
	return class
}

// errors lists the errors of the judged windows: by place from the client to the database,
// the most frequent first. nil: no transaction was scheduled, so that nothing is known;
// empty: none of the places that report errors noticed one.
func (e *evidence) errors() []Error {
	if !e.scheduled.found {
		return nil
	}
	all := []Error{}
	add := func(where, class string, t tally) {
		if t.n > 0 {
			all = append(all, Error{Where: where, Class: class, Count: t.n, Share: ratio(t, e.scheduled)})
		}
	}
	seen := map[[2]string]bool{}
	for _, s := range e.Timeline.Series(metric.ErrorsByClass) {
		id := [2]string{s.Label("where"), s.Label("class")}
		if !seen[id] { // several sources may have a series of these labels
			seen[id] = true
			add(id[0], id[1], e.tally(metric.ErrorsByClass, []metric.Label{{Key: "where", Value: id[0]}, {Key: "class", Value: id[1]}}))
		}
	}
	for _, d := range databaseErrors {
		add(metric.AtDatabase, d.class, e.tally(metric.DBCounter, label("name", d.counter)))
	}
	places := []string{metric.AtClient, metric.AtScript, metric.AtService, metric.AtDatabase}
	slices.SortFunc(all, func(a, b Error) int {
		return cmp.Or(cmp.Compare(slices.Index(places, a.Where), slices.Index(places, b.Where)), cmp.Compare(b.Count, a.Count), cmp.Compare(a.Class, b.Class))
	})
	return all
}
