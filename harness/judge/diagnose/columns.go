package diagnose

import (
	"assay/harness/observe/collect"
	"assay/harness/observe/metric"
	"assay/harness/observe/record"
)

// columnIndex is the place of a column in a row of the table.
type columnIndex int

// column is what a second of a record has one value of: a series, selected by
// its labels, and how its points become that value.
type column struct {
	series metric.Series
	read   func(*record.Timeline, metric.Series, record.Span) []float64 // nil: derived from others
}

// columns are those of every table, by quantity. After them a table has one for each
// class of waits.
var columns []column

func add(c column) columnIndex {
	columns = append(columns, c)
	return columnIndex(len(columns) - 1)
}

// counter adds up a counter over all sources.
func counter(name string, labels ...string) columnIndex {
	return add(column{metric.NewSeries(name, "", labels...), counts})
}

// histogram adds up the values of a histogram over all sources.
func histogram(name string) columnIndex {
	return add(column{metric.NewSeries(name, ""), func(line *record.Timeline, s metric.Series, span record.Span) []float64 {
		return line.Totals(s.Name, s.Labels, span)
	}})
}

// gauge is the last value that one source sent.
func gauge(source, name string, labels ...string) columnIndex {
	return add(column{metric.NewSeries(name, "", labels...), func(line *record.Timeline, s metric.Series, span record.Span) []float64 {
		return carried(line.Gauge(s.Name, s.Labels, source, span))
	}})
}

func counts(line *record.Timeline, s metric.Series, span record.Span) []float64 {
	return line.Counts(s.Name, s.Labels, span)
}

// The columns. Times are in ms, CPU times in s.
var (
	// Transactions, by the second they were due.
	scheduled       = counter(metric.TransactionsScheduled)
	transactionTime = histogram(metric.TransactionDuration) // from there to their end; a dropped one counts with the time-out
	lagTime         = histogram(metric.GeneratorLag)        // delay by the generator itself
	queueTime       = histogram(metric.ArrivalQueueing)     // delay because every VU was busy
	failed          = counter(metric.Transactions, "outcome", metric.Failed)
	timedOut        = counter(metric.Transactions, "outcome", metric.TimedOut)

	// Iterations and their requests, by the second of the iteration's end. Those
	// that timed out are not among them.
	ended         = counter(metric.EndedIterations)
	iterationTime = counter(metric.EndedIterationTime)
	blockedTime   = counter(metric.EndedBlockedTime) // waiting for and opening a connection to the service
	requestTime   = counter(metric.EndedRequestTime) // sent, answered
	requests      = counter(metric.EndedRequests)

	// The service.
	serviceTime     = counter(metric.ServiceRequestTime)
	serviceRequests = counter(metric.ServiceRequests)
	acquireTime     = counter(metric.ServiceAcquireTime)  // to get a database connection
	poolTime        = counter(metric.ServicePoolWaitTime) // thereof waiting for one of the pool
	queryTime       = counter(metric.ServiceQueryTime)    // statements, as the service sees them
	queries         = counter(metric.ServiceQueries)
	downstreamTime  = counter(metric.ServiceDownstreamTime)
	poolInUse       = gauge(collect.Service, metric.ServicePoolInUse) // connections
	poolMax         = gauge(collect.Service, metric.ServicePoolMax)

	// The database.
	statementTime = counter(metric.DBStatementTime) // as the database sees it
	samples       = counter(metric.DBSample)        // of its sessions
	sampleTime    = histogram(metric.DBSampleTime)
	refused       = counter(metric.DBCounter, "name", "Connection_errors_max_connections") // connections beyond its limit

	// CPUs of the two processes: time used, CPUs allowed, time in the run queue,
	// and idle time of the CPUs allowed.
	serviceCPU    = counter(metric.ServiceCPU)
	serviceCPUs   = gauge(collect.Service, metric.ServiceCPUs)
	serviceQueue  = counter(metric.ProcessRunQueue, "process", collect.Service)
	serviceIdle   = counter(metric.ProcessCPUIdle, "process", collect.Service)
	databaseCPU   = counter(metric.ProcessCPU, "process", collect.Database)
	databaseCPUs  = gauge(collect.Host, metric.ProcessCPUs, "process", collect.Database)
	databaseQueue = counter(metric.ProcessRunQueue, "process", collect.Database)
	databaseIdle  = counter(metric.ProcessCPUIdle, "process", collect.Database)

	// 1 in each second in which the service reported, the database was sampled,
	// and in each second at all.
	serviceSeen  = add(column{})
	databaseSeen = add(column{})
	seconds      = add(column{})
)
