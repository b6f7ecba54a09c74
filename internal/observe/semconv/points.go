// SPDX-License-Identifier: Apache-2.0

package semconv

import (
	"cmp"
	"slices"
	"strings"
)

// monitoringRoutes are routes of requests of monitoring rather than of the load.
var monitoringRoutes = []string{"/metrics", "/healthz", "/actuator"}

// IsMonitoring reports whether a route, with or without a method before it, is one of
// monitoring rather than of the load.
func IsMonitoring(route string) bool {
	path := route[strings.LastIndexByte(route, ' ')+1:]
	return slices.ContainsFunc(monitoringRoutes, func(of string) bool { return path == of || strings.HasPrefix(path, of+"/") })
}

func ofLoad(attribute func(string) string) bool { return !IsMonitoring(attribute("http.route")) }

// stores are the values of db.system.name for databases that are none of SQL, and that a
// service calls like another service, beside its database. Two have an older value.
var stores = []string{
	"aws.dynamodb", "dynamodb", "azure.cosmosdb", "cosmosdb", "cassandra", "couchbase", "couchdb", "elasticsearch",
	"geode", "hbase", "influxdb", "memcached", "mongodb", "neo4j", "opensearch", "redis",
}

func ofStore(attribute func(string) string) bool {
	return slices.Contains(stores, cmp.Or(attribute("db.system.name"), attribute("db.system")))
}

// ofPool: a pool of connections to a store is none of connections to the database.
func ofPool(attribute func(string) string) bool { return !ofStore(attribute) }

// operation is what otelsql and otelpgx also measure as an operation of the database. Of
// otelsql it is in db.operation.name, and in the attribute method of db.sql.latency.
func operation(attribute func(string) string) string {
	return cmp.Or(attribute("pgx.operation.type"), attribute("method"), attribute("db.operation.name"))
}

func ofConnect(attribute func(string) string) bool {
	return !ofStore(attribute) && slices.Contains([]string{"sql.connector.connect", "connect"}, operation(attribute))
}

func ofAcquire(attribute func(string) string) bool {
	return !ofStore(attribute) && operation(attribute) == "acquire"
}

// ofStatements: the time of statements, without that to get a connection.
func ofStatements(attribute func(string) string) bool {
	return !ofStore(attribute) && !ofConnect(attribute) && !ofAcquire(attribute)
}

// ofStatement: statements, without what is a part of one.
func ofStatement(attribute func(string) string) bool {
	return ofStatements(attribute) && !slices.Contains([]string{"sql.rows", "sql.conn.reset_session"}, operation(attribute))
}

// inUse: the attribute has had several names, the last one in otelsql.
func inUse(attribute func(string) string) bool {
	state := cmp.Or(attribute("db.client.connection.state"), attribute("state"), attribute("db.client.connections.state"), attribute("status"))
	return ofPool(attribute) && (state == "used" || state == "inuse")
}

// running: process.cpu.time may have the time waiting for a disk, too.
func running(attribute func(string) string) bool {
	return cmp.Or(attribute("cpu.mode"), attribute("process.cpu.state"), attribute("state")) != "wait"
}
