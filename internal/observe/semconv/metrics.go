// SPDX-License-Identifier: Apache-2.0

package semconv

import (
	"cmp"

	"assay.dev/assay/internal/observe/metric"
)

// Part is what is read of a point.
type Part int

// The parts of a point.
const (
	Value Part = iota // value of a counter, or of a level
	Count             // number of observations of a histogram
	Sum               // sum of the observations of a histogram; NaN: not known
)

// Metric is a metric of a service, by its name in OpenTelemetry, as one of the catalogue.
// Values are added up over all points, because a service may have several pools and routes.
type Metric struct {
	Name string // "http.server.request.duration"
	Unit string // in the conventions, UCUM; one in braces is a plain number
	Part Part
	As   metric.Series // in the catalogue
	// Of says whether a point counts, by its attributes; nil: all do.
	Of func(attribute func(string) string) bool
	// Beside: the metric is added to others with the same As. Otherwise they are names of
	// the same thing, and the first that a service has is read.
	Beside bool
}

// Metrics are the metrics of semantic conventions 1.41. Where the same thing has several
// names, that of today stands before its experimental ones (up to 1.25, in ms), and these
// before those of libraries for Go, which have pools of other names: otelsql (db.sql.*)
// and otelpgx (pgxpool.*).
//
// Not read are db.client.connection.idle.max and idle.min, which no diagnosis needs.
var Metrics = []Metric{
	{Name: "http.server.request.duration", Unit: "s", Part: Count, As: metric.Of(metric.ServiceRequests), Of: ofLoad},
	{Name: "http.server.duration", Unit: "ms", Part: Count, As: metric.Of(metric.ServiceRequests), Of: ofLoad},
	{Name: "http.server.request.duration", Unit: "s", Part: Sum, As: metric.Of(metric.ServiceRequestTime), Of: ofLoad},
	{Name: "http.server.duration", Unit: "ms", Part: Sum, As: metric.Of(metric.ServiceRequestTime), Of: ofLoad},

	{Name: "http.client.request.duration", Unit: "s", Part: Sum, As: metric.Of(metric.ServiceDownstreamTime)},
	{Name: "http.client.duration", Unit: "ms", Part: Sum, As: metric.Of(metric.ServiceDownstreamTime)},
	{Name: "db.client.operation.duration", Unit: "s", Part: Sum, As: metric.Of(metric.ServiceDownstreamTime), Of: ofStore, Beside: true},
	{Name: "http.client.request.duration", Unit: "s", Part: Count, As: metric.Of(metric.ServiceDownstreamCalls)},
	{Name: "http.client.duration", Unit: "ms", Part: Count, As: metric.Of(metric.ServiceDownstreamCalls)},

	{Name: "db.client.operation.duration", Unit: "s", Part: Count, As: metric.Of(metric.ServiceQueries), Of: ofStatement},
	{Name: "db.sql.latency", Unit: "ms", Part: Count, As: metric.Of(metric.ServiceQueries), Of: ofStatement},
	{Name: "db.client.operation.duration", Unit: "s", Part: Sum, As: metric.Of(metric.ServiceQueryTime), Of: ofStatements},
	{Name: "db.sql.latency", Unit: "ms", Part: Sum, As: metric.Of(metric.ServiceQueryTime), Of: ofStatements},

	{Name: "db.client.connection.count", Unit: "{connection}", As: metric.Of(metric.ServicePoolInUse), Of: inUse},
	{Name: "db.client.connections.usage", Unit: "{connection}", As: metric.Of(metric.ServicePoolInUse), Of: inUse},
	{Name: "db.sql.connection.open", As: metric.Of(metric.ServicePoolInUse), Of: inUse},
	{Name: "pgxpool.acquired_connections", As: metric.Of(metric.ServicePoolInUse)},
	{Name: "db.client.connection.count", Unit: "{connection}", As: metric.Of(metric.ServicePoolOpen), Of: ofPool},
	{Name: "db.client.connections.usage", Unit: "{connection}", As: metric.Of(metric.ServicePoolOpen), Of: ofPool},
	{Name: "db.sql.connection.open", As: metric.Of(metric.ServicePoolOpen)},
	{Name: "pgxpool.total_connections", As: metric.Of(metric.ServicePoolOpen)},
	{Name: "db.client.connection.max", Unit: "{connection}", As: metric.Of(metric.ServicePoolMax), Of: ofPool},
	{Name: "db.client.connections.max", Unit: "{connection}", As: metric.Of(metric.ServicePoolMax), Of: ofPool},
	{Name: "db.sql.connection.max_open", As: metric.Of(metric.ServicePoolMax)},
	{Name: "pgxpool.max_connections", As: metric.Of(metric.ServicePoolMax)},
	{Name: "db.client.connection.pending_requests", Unit: "{request}", As: metric.Of(metric.ServicePoolPending), Of: ofPool},
	{Name: "db.client.connections.pending_requests", Unit: "{request}", As: metric.Of(metric.ServicePoolPending), Of: ofPool},

	{Name: "db.client.connection.wait_time", Unit: "s", Part: Sum, As: metric.Of(metric.ServiceAcquireTime), Of: ofPool},
	{Name: "db.client.connections.wait_time", Unit: "ms", Part: Sum, As: metric.Of(metric.ServiceAcquireTime), Of: ofPool},
	{Name: "pgxpool.acquire_duration", Unit: "ns", As: metric.Of(metric.ServiceAcquireTime)},
	{Name: "db.client.operation.duration", Unit: "s", Part: Sum, As: metric.Of(metric.ServiceAcquireTime), Of: ofAcquire},
	{Name: "db.client.connection.create_time", Unit: "s", Part: Sum, As: metric.Of(metric.ServiceConnectTime), Of: ofPool},
	{Name: "db.client.connections.create_time", Unit: "ms", Part: Sum, As: metric.Of(metric.ServiceConnectTime), Of: ofPool},
	{Name: "db.client.operation.duration", Unit: "s", Part: Sum, As: metric.Of(metric.ServiceConnectTime), Of: ofConnect},
	{Name: "db.sql.latency", Unit: "ms", Part: Sum, As: metric.Of(metric.ServiceConnectTime), Of: ofConnect},
	{Name: "db.client.connection.use_time", Unit: "s", Part: Sum, As: metric.Of(metric.ServicePoolUseTime), Of: ofPool},
	{Name: "db.client.connections.use_time", Unit: "ms", Part: Sum, As: metric.Of(metric.ServicePoolUseTime), Of: ofPool},
	{Name: "db.sql.connection.wait", As: metric.Of(metric.ServicePoolWaits)},
	{Name: "db.sql.connection.wait_duration", Unit: "ms", As: metric.Of(metric.ServicePoolWaitTime)},
	{Name: "db.client.connection.timeouts", Unit: "{timeout}", As: poolTimeouts, Of: ofPool},
	{Name: "db.client.connections.timeouts", Unit: "{timeout}", As: poolTimeouts, Of: ofPool},

	{Name: "process.cpu.time", Unit: "s", As: metric.Of(metric.ServiceCPU), Of: running},
	{Name: "jvm.cpu.time", Unit: "s", As: metric.Of(metric.ServiceCPU)},
	{Name: "dotnet.process.cpu.time", Unit: "s", As: metric.Of(metric.ServiceCPU)},
	{Name: "go.processor.limit", Unit: "{thread}", As: metric.Of(metric.ServiceCPUs)},
	{Name: "jvm.cpu.count", Unit: "{cpu}", As: metric.Of(metric.ServiceCPUs)},
	{Name: "dotnet.process.cpu.count", Unit: "{cpu}", As: metric.Of(metric.ServiceCPUs)},
}

// seconds are the units of time that senders use, UCUM.
var seconds = map[string]float64{"s": 1, "ms": 1e-3, "us": 1e-6, "ns": 1e-9, "min": 60}

// Milliseconds converts from a unit of time to ms; false: it is none.
func Milliseconds(unit string) (factor float64, ok bool) {
	factor, ok = seconds[unit]
	return 1000 * factor, ok
}

// Factor converts a value from a sender's unit, empty: that of the conventions, to the
// catalogue's. False: it is none of time, although the metric is.
func (m Metric) Factor(unit string) (factor float64, ok bool) {
	if m.Part == Count || m.As.Unit == "" {
		return 1, true
	}
	from, ok := seconds[cmp.Or(unit, m.Unit)]
	return from / seconds[m.As.Unit], ok
}

var poolTimeouts = metric.Of(metric.ErrorsByClass, "where", metric.AtService, "class", metric.ErrorPoolTimeout)
