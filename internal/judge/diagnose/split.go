// SPDX-License-Identifier: Apache-2.0

package diagnose

import (
	"slices"

	"assay.dev/assay/internal/observe/record"
	"assay.dev/assay/internal/observe/wait"
)

// Components of the time of a transaction that are not wait classes; package wait names
// the component of each wait class.
const (
	Generator       = "generator"       // late starts
	Script          = "script"          // the script itself, and its calls without HTTP
	ArrivalQueue    = "arrival queue"   // every VU busy
	Network         = "network"         // between generator and service, and between service and database
	Service         = "service"         // the service itself
	Downstream      = "downstream"      // calls to other services
	Pool            = "connection pool" // waiting for a database connection
	ConnectionStorm = wait.Storm        // opening database connections
	Database        = "database"        // statements, where their waits were not sampled
	Neighbour       = "neighbour"       // another client of the database, whose sessions keep it busy
	Unmeasured      = "unmeasured"      // time that neither end measures, and that the wire does not take
	Residual        = "residual"        // the rest
)

// CPU is the component of statements that run or wait for a CPU.
var CPU = wait.ComponentOf(wait.CPU)

// order of the components, as a transaction passes through them.
var order = []string{Generator, ArrivalQueue, Script, Network, Service, Unmeasured, Downstream, Pool, ConnectionStorm, Database, Neighbour}

// layout is what a run measured in each second, and the components that this can separate.
type layout struct {
	clients       clients
	columns       []column
	known         []bool         // whether the run has any value of each column
	classes       []string       // wait classes
	names         []string       // order, the components of wait classes, Residual
	index         map[string]int // in names
	componentOf   []int          // index in names of the component of each wait class
	databaseParts []int          // indices in names of the components in which statements spend their time, sorted
}

func layoutOf(r record.Run, judged []record.Span) *layout {
	l := &layout{index: map[string]int{}}
	l.measure(r, judged)
	add := func(name string) int {
		i, ok := l.index[name]
		if !ok {
			i = len(l.names)
			l.names, l.index[name] = append(l.names, name), i
		}
		return i
	}
	for _, name := range order {
		add(name)
	}
	add(CPU)
	for _, class := range l.classes {
		l.componentOf = append(l.componentOf, add(wait.ComponentOf(class)))
	}
	add(Residual)
	l.databaseParts = append([]int{l.index[Database], l.index[CPU]}, l.componentOf...)
	slices.Sort(l.databaseParts)
	l.databaseParts = slices.DeleteFunc(slices.Compact(l.databaseParts), func(at int) bool {
		return at == l.index[Network] || at == l.index[ConnectionStorm]
	})
	return l
}

// isDatabase reports whether statements spend their time in a component.
func (l *layout) isDatabase(at int) bool { return slices.Contains(l.databaseParts, at) }

// parts is the mean time of a transaction in each component, in ms.
type parts []float64

// split divides the time of a window's transactions, given its column sums. Times are
// counted where and when they are spent: so they are divided by the number of transactions
// that ended in the window, and delays of the start by the number that was scheduled in
// it. With n transactions, every line below is a sum of times / n; database time by wait
// class is
//
//	D_c = (sessions of class c / all sessions) * statement time / n
//
// (docs/waits.md, Attribution). Statement time is the database's counter or, if there is none or
// the samples show over a fifth more, the sampled time sessions/samples * seconds: the
// counter lacks statements that have not ended.
//
// k6 reports no times of a transaction that timed out, but service and database report the
// time that they spent on it: in an overload the components may add up to more than the
// clients saw, which makes the residual negative.
func (l *layout) split(sum []float64) parts {
	p := make(parts, len(l.names))
	per := func(ms, n float64) float64 {
		if n <= 0 {
			return 0
		}
		return ms / n
	}
	n, due := l.ended(sum), sum[scheduled]
	put := func(name string, ms float64) { p[l.index[name]] += ms }
	script := 0.0
	if l.known[iterationTime] {
		script = max(0, per(sum[iterationTime]-sum[requestTime]-sum[blockedTime], n))
	}
	statements := l.statementTime(sum)
	switch {
	case l.known[serviceTime] && (l.known[queryTime] || l.databaseKnown(sum)):
		wire, unseen := l.requestsWay(sum)
		put(Network, per(sum[blockedTime]+wire, n))
		put(Unmeasured, per(unseen, n))
		pool, opening := l.acquiring(sum)
		own := sum[serviceTime] - pool - opening - sum[queryTime] - l.downstream(sum)
		inside := sum[queryTime]
		if !l.known[queryTime] { // the service reports only its pool
			own -= statements
			inside = statements
		}
		put(Service, per(max(0, own), n))
		put(Downstream, per(l.downstream(sum), n))
		put(Pool, per(pool, n))
		put(ConnectionStorm, per(opening, n))
		if l.databaseKnown(sum) {
			wire, unseen := l.statementsWay(sum)
			put(Network, per(wire, n))
			put(Unmeasured, per(unseen, n))
		} else {
			put(Database, per(inside, n))
		}
	case l.known[requestTime]:
		put(Network, per(sum[blockedTime], n))
		pool, opening := l.acquiring(sum)
		put(Pool, per(pool, n))
		put(ConnectionStorm, per(opening, n))
		put(Downstream, per(l.downstream(sum), n))
		put(Unmeasured, per(max(0, sum[requestTime]-pool-opening-statements-l.downstream(sum)), n))
	default: // the script calls the database directly
		script = max(0, script-per(statements, n))
	}
	put(Generator, per(sum[lagTime], due))
	put(Script, script)
	put(ArrivalQueue, per(sum[queueTime], due))
	l.database(p, sum, per(statements, n))
	rest := per(sum[lagTime]+sum[queueTime], due) + per(sum[iterationTime], n)
	if !l.known[iterationTime] {
		rest = per(sum[transactionTime], due)
	}
	for _, ms := range p {
		rest -= ms
	}
	put(Residual, rest)
	return p
}

// downstream is the time in calls to other services, in ms: as the service measures it or,
// where it does not, as stubs do.
func (l *layout) downstream(sum []float64) float64 {
	if l.known[downstreamTime] {
		return sum[downstreamTime]
	}
	return sum[stubTime]
}

// maxRoundTrips is the number of round trips that a request may take on the wire: one, and
// another for bodies larger than the first window of packets (ours).
const maxRoundTrips = 2

// requestsWay divides the time that requests take between generator and service, in ms:
// what the caller measures and the service does not. The wire takes at most maxRoundTrips
// measured round trips of each request. The rest is unmeasured: queues and proxies before
// the service, or a process that did not run. Without measured round trips all of it counts
// as the wire.
func (l *layout) requestsWay(sum []float64) (wire, unseen float64) {
	way := max(0, sum[requestTime]-sum[serviceTime])
	if !l.known[roundTrip] {
		return way, 0
	}
	wire = min(way, maxRoundTrips*sum[requests]*sum[roundTrip]/sum[seconds])
	return wire, way - wire
}

// statementsWay divides the time that statements take between service and database, in ms:
// what the service measures and the database does not. No statement is faster than a round
// trip, so the wire takes at most the time of the fastest tenth for each of them: a slow
// wire delays all, a process that did not run only some. The rest is unmeasured. Without
// the time of the fastest, all of it counts as the wire.
func (l *layout) statementsWay(sum []float64) (wire, unseen float64) {
	if !l.known[queryTime] {
		return 0, 0
	}
	way := max(0, sum[queryTime]-l.statementTime(sum))
	if !l.known[queryFastest] {
		return way, 0
	}
	wire = min(way, sum[queries]*sum[queryFastest]/sum[seconds])
	return wire, way - wire
}

// databaseKnown reports whether the database has measured the time in statements.
func (l *layout) databaseKnown(sum []float64) bool { return l.known[statementTime] || sum[samples] > 0 }

// ended is the number of transactions that ended in the window. Those that timed out count
// in the second for which they were scheduled.
func (l *layout) ended(sum []float64) float64 {
	if n := sum[ended] + sum[timedOut]; l.known[ended] && n > 0 {
		return n
	}
	return sum[scheduled]
}

// acquiring is the time to get database connections: waiting for the pool, and opening
// connections. If the pool reports no time, it is that of the requests that were waiting
// whenever it was read, by Little's law.
func (l *layout) acquiring(sum []float64) (pool, opening float64) {
	switch {
	case l.known[poolTime] && l.known[acquireTime]:
		return sum[poolTime], max(0, sum[acquireTime]-sum[poolTime])
	case l.known[acquireTime]:
		opening = min(sum[acquireTime], sum[connectTime])
		return sum[acquireTime] - opening, opening
	case l.known[poolTime]:
		return sum[poolTime], sum[connectTime]
	}
	return 1000 * sum[poolPending], sum[connectTime]
}

// maxSampledRatio is the largest ratio of sampled to counted statement time with which
// the counter is used (docs/waits.md, Attribution: flag a gap over 20 %).
const maxSampledRatio = 1.2

// statementTime is the time in statements, in ms. If no transaction timed out and the
// service reports the time of its statements, that is the upper bound: the samples include
// the sessions of other clients.
func (l *layout) statementTime(sum []float64) float64 {
	ms := sum[statementTime]
	if sampled := l.sampledTime(sum); !l.known[statementTime] || sampled > maxSampledRatio*ms {
		ms = sampled
	}
	if l.known[queryTime] && sum[queryTime] > 0 && sum[timedOut] == 0 {
		ms = min(ms, max(sum[queryTime], sum[statementTime]))
	}
	return ms
}

// sampledTime is the time of the load's active sessions according to the samples, in ms,
// without sessions that are being opened, which run no statement.
func (l *layout) sampledTime(sum []float64) float64 {
	if sum[samples] == 0 {
		return 0
	}
	return l.sessions(sum) / sum[samples] * sum[seconds] * 1000
}

func (l *layout) sessions(sum []float64) (n float64) {
	for i, class := range l.classes {
		if class != wait.Storm {
			n += sum[l.class(i)]
		}
	}
	return n
}

// database divides the statement time per transaction, in ms, among the wait classes.
func (l *layout) database(p parts, sum []float64, ms float64) {
	all := l.sessions(sum)
	if all == 0 {
		p[l.index[Database]] += ms
		return
	}
	for i, class := range l.classes {
		if class != wait.Storm {
			p[l.componentOf[i]] += ms * sum[l.class(i)] / all
		}
	}
}
