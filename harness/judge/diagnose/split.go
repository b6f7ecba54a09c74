package diagnose

import "assay/harness/observe/wait"

// Components of a transaction's time that are not classes of waits; package wait
// names the component of each class.
const (
	Generator  = "generator"       // late starts
	Script     = "script"          // its own time, and calls that it makes without HTTP
	Queue      = "arrival queue"   // every VU busy
	Network    = "network"         // between generator and service, and between service and database
	Service    = "service"         // the service's own time
	Downstream = "downstream"      // calls to other services
	Pool       = "connection pool" // waiting for a database connection
	Opening    = wait.Storm        // opening database connections
	Database   = "database"        // statements, where their waits were not sampled
	Outside    = "unmeasured"      // requests of a service that reports nothing, without their statements
	Residual   = "residual"        // what is left
)

// CPU is the component of statements that run, or wait for a CPU.
var CPU = wait.ComponentOf(wait.CPU)

// order is the order in which a transaction passes through the components.
var order = []string{Generator, Queue, Script, Network, Service, Outside, Downstream, Pool, Opening, Database}

// layout is the components that a run's measurements can separate.
type layout struct {
	*table
	names []string // order, those of wait classes, Residual
	at    map[string]int
	of    []int // place in names, by class
}

func layoutOf(t *table) *layout {
	l := &layout{table: t, at: map[string]int{}}
	add := func(name string) int {
		i, ok := l.at[name]
		if !ok {
			i = len(l.names)
			l.names, l.at[name] = append(l.names, name), i
		}
		return i
	}
	for _, name := range order {
		add(name)
	}
	add(CPU)
	for _, class := range t.classes {
		l.of = append(l.of, add(wait.ComponentOf(class)))
	}
	add(Residual)
	return l
}

// parts is a transaction's mean time in each component, in ms.
type parts []float64

// split divides the time of a window's transactions, given the sums of its
// seconds. What a transaction meets on its way is counted where and when it
// happens, so it is divided by the transactions that ended in the window, and
// delays of the start by those that were due in it. With n transactions, every
// line below is a sum of times / n; database time by class is
//
//	D_c = (sessions of class c / all sessions) * statement time / n
//
// (WAITS section 6), with the sampled time sessions/samples * seconds in place of
// statement time where there is no counter, or where it is over a fifth more:
// statements that have not ended are not in the counter.
//
// k6 reports no times of a transaction that timed out, while the time that service
// and database spent on it counts: in an overload the parts may be more than what
// the clients saw, and the residual less than 0.
func (l *layout) split(sum []float64) parts {
	p := make(parts, len(l.names))
	per := func(ms, n float64) float64 {
		if n <= 0 {
			return 0
		}
		return ms / n
	}
	n, due := l.ended(sum), sum[scheduled]
	put := func(name string, ms float64) { p[l.at[name]] += ms }
	script := 0.0
	if l.known[iterationTime] {
		script = max(0, per(sum[iterationTime]-sum[requestTime]-sum[blockedTime], n))
	}
	statements := l.statementTime(sum)
	switch {
	case l.known[serviceTime] && (l.known[queryTime] || l.databaseKnown(sum)):
		put(Network, per(sum[blockedTime]+max(0, sum[requestTime]-sum[serviceTime]), n))
		pool, opening := l.acquiring(sum)
		own := sum[serviceTime] - pool - opening - sum[queryTime] - sum[downstreamTime]
		inside := sum[queryTime]
		if !l.known[queryTime] { // a service that reports its pool only
			own -= statements
			inside = statements
		}
		put(Service, per(max(0, own), n))
		put(Downstream, per(sum[downstreamTime], n))
		put(Pool, per(pool, n))
		put(Opening, per(opening, n))
		if l.databaseKnown(sum) {
			put(Network, per(max(0, inside-statements), n))
		} else {
			put(Database, per(inside, n))
		}
	case l.known[requestTime]:
		put(Network, per(sum[blockedTime], n))
		pool, opening := l.acquiring(sum)
		put(Pool, per(pool, n))
		put(Opening, per(opening, n))
		put(Downstream, per(sum[downstreamTime], n))
		put(Outside, per(max(0, sum[requestTime]-pool-opening-statements-sum[downstreamTime]), n))
	default: // a script that calls the database itself
		script = max(0, script-per(statements, n))
	}
	put(Generator, per(sum[lagTime], due))
	put(Script, script)
	put(Queue, per(sum[queueTime], due))
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

// databaseKnown: the time in statements is known from the database.
func (l *layout) databaseKnown(sum []float64) bool { return l.known[statementTime] || sum[samples] > 0 }

// ended is how many transactions ended in the window. Those that timed out are
// counted by the second they were due in.
func (l *layout) ended(sum []float64) float64 {
	if n := sum[ended] + sum[timedOut]; l.known[ended] && n > 0 {
		return n
	}
	return sum[scheduled]
}

// acquiring is the time to get database connections: waiting for one of the
// pool, and opening one.
func (l *layout) acquiring(sum []float64) (pool, opening float64) {
	switch {
	case l.known[poolTime] && l.known[acquireTime]:
		return sum[poolTime], max(0, sum[acquireTime]-sum[poolTime])
	case l.known[acquireTime]:
		return sum[acquireTime], 0
	}
	return sum[poolTime], 0
}

// unfinished is the ratio of sampled time to the counters' from which on sampled
// time is used instead (WAITS section 6: a gap over 20 % is to be flagged).
const unfinished = 1.2

// statementTime is the time in statements, in ms. Where no transaction timed out,
// and the service reports its statements' time, it is no more than that: sessions
// of others are sampled too.
func (l *layout) statementTime(sum []float64) float64 {
	ms := sum[statementTime]
	if sampled := l.sampledTime(sum); !l.known[statementTime] || sampled > unfinished*ms {
		ms = sampled
	}
	if l.known[queryTime] && sum[queryTime] > 0 && sum[timedOut] == 0 {
		ms = min(ms, max(sum[queryTime], sum[statementTime]))
	}
	return ms
}

// sampledTime is the time of active sessions by the samples, in ms, without
// sessions that were being opened, which run no statement.
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

// database divides ms of a transaction's statements among the classes of waits.
func (l *layout) database(p parts, sum []float64, ms float64) {
	all := l.sessions(sum)
	if all == 0 {
		p[l.at[Database]] += ms
		return
	}
	for i, class := range l.classes {
		if class != wait.Storm {
			p[l.of[i]] += ms * sum[l.class(i)] / all
		}
	}
}
