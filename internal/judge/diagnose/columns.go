// SPDX-License-Identifier: Apache-2.0

package diagnose

import (
	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/observe/record"
)

// columnIndex is the index of a column in a row of the table.
type columnIndex int

// column is a measurement with one value per second: a series, selected by its labels,
// and how to read its values.
type column struct {
	series metric.Series
	read   func(*record.Timeline, metric.Series, record.Span) []float64 // nil: derived from other columns
}

// counter is the sum of a counter over all sources.
func counter(name string, labels ...string) column {
	return column{metric.NewSeries(name, "", labels...), counts}
}

// histogram is the sum of the values in a histogram over all sources.
func histogram(name string) column {
	return column{metric.NewSeries(name, ""), func(line *record.Timeline, s metric.Series, span record.Span) []float64 {
		return line.Totals(s.Name, s.Labels, span)
	}}
}

// each reads the seconds of a span one by one. A second without a value has that before it.
func each(span record.Span, read func(second int64) (float64, bool)) []float64 {
	values, ok := make([]float64, span.Seconds()), make([]bool, span.Seconds())
	for i := range values {
		values[i], ok[i] = read(span.From + int64(i))
	}
	return fillGaps(values, ok)
}

// mean is the mean of a histogram's values in each second.
func mean(name string, labels ...string) column {
	return column{metric.NewSeries(name, "", labels...), func(line *record.Timeline, s metric.Series, span record.Span) []float64 {
		return each(span, func(second int64) (float64, bool) {
			return line.Hist(s.Name, s.Labels, record.Span{From: second, To: second + 1}).Mean()
		})
	}}
}

// gauge is the last value that a source sent.
func gauge(source, name string, labels ...string) column {
	return column{metric.NewSeries(name, "", labels...), func(line *record.Timeline, s metric.Series, span record.Span) []float64 {
		return fillGaps(line.Gauge(s.Name, s.Labels, source, span))
	}}
}

// gaugeOverAll is the sum of the last values that all sources sent.
func gaugeOverAll(name string, labels ...string) column {
	return column{metric.NewSeries(name, "", labels...), func(line *record.Timeline, s metric.Series, span record.Span) []float64 {
		return each(span, func(second int64) (float64, bool) { return line.GaugeSum(s.Name, s.Labels, second) })
	}}
}

func counts(line *record.Timeline, s metric.Series, span record.Span) []float64 {
	return line.Counts(s.Name, s.Labels, span)
}

const (
	scheduled columnIndex = iota
	transactionTime
	lagTime
	queueTime
	failed
	timedOut
	ended
	iterationTime
	blockedTime
	requestTime
	requests
	serviceTime
	serviceRequests
	acquireTime
	poolTime
	connectTime
	poolUseTime
	queryTime
	queries
	queryFastest
	downstreamTime
	workerQueue
	capacity
	downstreamCalls
	poolInUse
	poolMax
	poolPending
	poolTimeouts
	serviceRefused
	stubTime
	stubCalls
	stubQueue
	statementTime
	samples
	sampleTime
	refused
	serviceCPU
	serviceCPUs
	serviceQueue
	serviceIdle
	databaseCPU
	databaseCPUs
	databaseQueue
	databaseIdle
	serviceStopped
	serviceThrottled
	roundTrip
	databaseTrip
	serviceSeen
	databaseSeen
	seconds
)

// columns are those of every run. They are followed by one for each wait class. Times are in
// ms, CPU times in s.
var columns = []column{
	// Transactions, by the second for which they were scheduled.
	scheduled:       counter(metric.TransactionsScheduled),
	transactionTime: histogram(metric.TransactionDuration), // from the scheduled start; a dropped transaction counts with its timeout
	lagTime:         histogram(metric.GeneratorLag),        // delay by the generator itself
	queueTime:       histogram(metric.ArrivalQueueing),     // delay because every VU was busy
	failed:          counter(metric.Transactions, "outcome", metric.Failed),
	timedOut:        counter(metric.Transactions, "outcome", metric.TimedOut),

	// Iterations and their requests, by the second in which the iteration ended, without
	// those that timed out.
	ended:         counter(metric.EndedIterations),
	iterationTime: counter(metric.EndedIterationTime),
	blockedTime:   counter(metric.EndedBlockedTime), // waiting for and opening a connection to the service
	requestTime:   counter(metric.EndedRequestTime), // from sending a request to its response
	requests:      counter(metric.EndedRequests),

	// The service.
	serviceTime:     counter(metric.ServiceRequestTime),
	serviceRequests: counter(metric.ServiceRequests),
	acquireTime:     counter(metric.ServiceAcquireTime),  // getting a database connection
	poolTime:        counter(metric.ServicePoolWaitTime), // part of it: waiting for the pool
	connectTime:     counter(metric.ServiceConnectTime),  // opening database connections
	poolUseTime:     counter(metric.ServicePoolUseTime),
	queryTime:       counter(metric.ServiceQueryTime), // statements, measured by the service
	queries:         counter(metric.ServiceQueries),
	queryFastest:    gauge(metric.SourceService, metric.ServiceQueryFastest), // bound of the fastest tenth of statements
	downstreamTime:  counter(metric.ServiceDownstreamTime),
	workerQueue:     counter(metric.ServiceQueueTime),                    // part of serviceTime: waiting for a worker
	capacity:        gauge(metric.SourceService, metric.ServiceCapacity), // workers
	downstreamCalls: counter(metric.ServiceDownstreamCalls),
	poolInUse:       gauge(metric.SourceService, metric.ServicePoolInUse), // connections
	poolMax:         gauge(metric.SourceService, metric.ServicePoolMax),
	poolPending:     gauge(metric.SourceService, metric.ServicePoolPending), // requests
	poolTimeouts:    counter(metric.ErrorsByClass, "where", metric.AtService, "class", metric.ErrorPoolTimeout),
	serviceRefused:  counter(metric.ErrorsByClass, "where", metric.AtService, "class", metric.ErrorTooMany),

	// Stubs, of calls for which transactions wait, by the second in which they ended.
	stubTime:  counter(metric.StubCallTime, "background", "false"),
	stubCalls: counter(metric.StubCalls, "background", "false"),
	stubQueue: gaugeOverAll(metric.StubQueue, "background", "false"), // calls that wait, those included whose callers have left

	// The database.
	statementTime: counter(metric.DBStatementTime), // measured by the database
	samples:       counter(metric.DBSample),        // samples taken of the sessions
	sampleTime:    histogram(metric.DBSampleTime),
	refused:       counter(metric.DBCounter, "name", "Connection_errors_max_connections"), // connections beyond the limit

	// CPU of the two processes: time used, number of CPUs allowed, time in the run queue,
	// and idle time of the allowed CPUs.
	serviceCPU:    counter(metric.ServiceCPU),
	serviceCPUs:   gauge(metric.SourceService, metric.ServiceCPUs),
	serviceQueue:  counter(metric.ProcessRunQueue, "process", metric.SourceService),
	serviceIdle:   counter(metric.ProcessCPUIdle, "process", metric.SourceService),
	databaseCPU:   counter(metric.ProcessCPU, "process", metric.SourceDatabase),
	databaseCPUs:  gauge(metric.SourceHost, metric.ProcessCPUs, "process", metric.SourceDatabase),
	databaseQueue: counter(metric.ProcessRunQueue, "process", metric.SourceDatabase),
	databaseIdle:  counter(metric.ProcessCPUIdle, "process", metric.SourceDatabase),

	// Time for which the service was stopped or throttled, in s.
	serviceStopped:   counter(metric.ProcessStopped, "process", metric.SourceService),
	serviceThrottled: counter(metric.CgroupThrottled, "process", metric.SourceService),

	// From the collector's host, in ms.
	roundTrip:    mean(metric.NetworkRoundTrip, "path", metric.SourceService),
	databaseTrip: mean(metric.NetworkRoundTrip, "path", metric.SourceDatabase),

	serviceSeen:  {}, // 1 if the service reported
	databaseSeen: {}, // 1 if the database was sampled
	seconds:      {}, // always 1
}
