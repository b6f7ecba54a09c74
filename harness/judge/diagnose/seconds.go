package diagnose

import (
	"maps"
	"slices"

	"assay/harness/observe/collect"
	"assay/harness/observe/metric"
	"assay/harness/observe/record"
)

// quantity is something that each second of a record measured.
type quantity int

// Times are in ms, unless they are CPU times, in s.
const (
	scheduled       quantity = iota // transactions, by the second they were due
	transactionTime                 // from there to their end; the dropped ones count with the time-out
	lagTime                         // delay by the generator itself
	queueTime                       // delay because every VU was busy
	ended                           // iterations, by the second of their end; those that were cut off are not among them
	failed                          // transactions, by the second they were due
	timedOut                        // transactions, by the second they were due: they were cut off
	iterationTime                   // by the second of its end, as are the three that follow
	blockedTime                     // requests: waiting for and opening a connection to the service
	requestTime                     // requests: sent, answered
	requests
	serviceTime // the service: requests
	serviceRequests
	acquireTime // to get a database connection
	poolTime    // thereof waiting for one of the pool
	queryTime   // statements, as the service sees them
	queries
	downstreamTime
	poolInUse // connections, once a second
	poolMax
	statementTime // statements, as the database sees them
	samples       // of the database's sessions
	sampleTime    // that they took
	serviceCPU    // s
	serviceCPUs
	serviceQueue // s: its threads ready to run, without a CPU
	serviceIdle  // s that the CPUs that it may use have nothing to do
	databaseCPU
	databaseCPUs
	databaseQueue
	databaseIdle
	refused      // connections that the database had no room for
	serviceSeen  // 1 a second in which the service told of itself
	databaseSeen // 1 a second in which the database was sampled
	seconds      // 1 a second
	firstClass
)

// table is the seconds of a run's windows, a row each, a column for each
// quantity and behind them for each class of waits the sessions seen.
type table struct {
	known   []bool // quantities that the run has any value of
	classes []string
}

// tableOf finds out what the run measured.
func tableOf(r record.Run) *table {
	t := &table{known: make([]bool, firstClass)}
	for q := range firstClass {
		t.known[q] = nameOf[q] == "" || len(r.Timeline.Series(nameOf[q])) > 0
	}
	for _, q := range []quantity{failed, timedOut, serviceQueue, serviceIdle, databaseCPU, databaseCPUs, databaseQueue, databaseIdle, refused} {
		t.known[q] = slices.ContainsFunc(r.Timeline.Series(nameOf[q]), func(s metric.Series) bool { return s.Matches(labelsOf[q]) })
	}
	classes := map[string]bool{}
	for _, s := range r.Timeline.Series(metric.DBSession) {
		classes[s.Label("class")] = true
	}
	t.classes = slices.Sorted(maps.Keys(classes))
	return t
}

var nameOf = map[quantity]string{
	scheduled: metric.TransactionsScheduled, transactionTime: metric.TransactionDuration,
	lagTime: metric.GeneratorLag, queueTime: metric.ArrivalQueueing,
	ended: metric.EndedIterations, failed: metric.Transactions, timedOut: metric.Transactions, iterationTime: metric.EndedIterationTime,
	blockedTime: metric.EndedBlockedTime, requestTime: metric.EndedRequestTime, requests: metric.EndedRequests,
	serviceTime: metric.ServiceRequestTime, serviceRequests: metric.ServiceRequests, acquireTime: metric.ServiceAcquireTime, poolTime: metric.ServicePoolWaitTime,
	queryTime: metric.ServiceQueryTime, queries: metric.ServiceQueries, downstreamTime: metric.ServiceDownstreamTime,
	poolInUse: metric.ServicePoolInUse, poolMax: metric.ServicePoolMax,
	statementTime: metric.DBStatementTime, samples: metric.DBSample, sampleTime: metric.DBSampleTime,
	serviceCPU: metric.ServiceCPU, serviceCPUs: metric.ServiceCPUs, serviceQueue: metric.ProcessRunQueue, serviceIdle: metric.ProcessCPUIdle,
	databaseCPU: metric.ProcessCPU, databaseCPUs: metric.ProcessCPUs, databaseQueue: metric.ProcessRunQueue, databaseIdle: metric.ProcessCPUIdle,
	refused: metric.DBCounter,
}

var labelsOf = map[quantity][]metric.Label{
	failed:        {{Key: "outcome", Value: metric.Failed}},
	timedOut:      {{Key: "outcome", Value: metric.TimedOut}},
	serviceQueue:  {{Key: "process", Value: collect.Service}},
	serviceIdle:   {{Key: "process", Value: collect.Service}},
	databaseCPU:   {{Key: "process", Value: collect.Database}},
	databaseCPUs:  {{Key: "process", Value: collect.Database}},
	databaseQueue: {{Key: "process", Value: collect.Database}},
	databaseIdle:  {{Key: "process", Value: collect.Database}},
	refused:       {{Key: "name", Value: "Connection_errors_max_connections"}},
}

// rows are the seconds of some spans.
func (t *table) rows(line *record.Timeline, spans []record.Span) (rows [][]float64) {
	for _, span := range spans {
		first := len(rows)
		for range span.Seconds() {
			rows = append(rows, make([]float64, int(firstClass)+len(t.classes)))
		}
		put := func(column int, values []float64) {
			for i, v := range values {
				rows[first+i][column] = v
			}
		}
		for q := range firstClass {
			switch {
			case !t.known[q] || nameOf[q] == "":
			case gaugeOf[q] != "":
				values, ok := line.Gauge(nameOf[q], labelsOf[q], gaugeOf[q], span)
				put(int(q), carried(values, ok))
			case isHistogram(q):
				put(int(q), line.Totals(nameOf[q], labelsOf[q], span))
			default:
				put(int(q), line.Counts(nameOf[q], labelsOf[q], span))
			}
		}
		told := t.told(line)
		for i, row := range rows[first:] {
			row[seconds] = 1
			if _, ok := told[span.From+int64(i)]; ok {
				row[serviceSeen] = 1
			}
			if row[samples] > 0 {
				row[databaseSeen] = 1
			}
		}
		for i, class := range t.classes {
			put(int(firstClass)+i, line.Counts(metric.DBSession, []metric.Label{{Key: "class", Value: class}}, span))
		}
	}
	return rows
}

// told are the seconds in which the service told of itself.
func (t *table) told(line *record.Timeline) map[int64]float64 {
	for _, q := range []quantity{serviceTime, queryTime, acquireTime, poolTime, serviceCPU} {
		if t.known[q] {
			return line.BySecond(nameOf[q], labelsOf[q])
		}
	}
	return nil
}

// carried fills the gaps of a gauge with the value before, or the first that there
// is: a level does not fall to 0 because nobody looked.
func carried(values []float64, ok []bool) []float64 {
	last := slices.Index(ok, true)
	if last < 0 {
		return values
	}
	for i := range values {
		if ok[i] {
			last = i
		}
		values[i] = values[last]
	}
	return values
}

// gaugeOf is the source of those that are gauges.
var gaugeOf = map[quantity]string{
	poolInUse: collect.Service, poolMax: collect.Service, serviceCPUs: collect.Service, databaseCPUs: collect.Host,
}

func isHistogram(q quantity) bool {
	switch q {
	case transactionTime, lagTime, queueTime, sampleTime:
		return true
	}
	return false
}

// sum adds rows up.
func (t *table) sum(rows [][]float64) []float64 {
	total := make([]float64, int(firstClass)+len(t.classes))
	for _, row := range rows {
		for i, v := range row {
			total[i] += v
		}
	}
	return total
}
