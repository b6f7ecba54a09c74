// Package service collects from the service under test by scraping the Prometheus endpoint
// of each of its instances once per second, and adding them up: the use of the pools of
// database connections, the time that requests wait for a connection, the time in queries,
// the total time of requests and of downstream calls, and CPU time.
//
// Input: the URL of the endpoint of a single instance, or a function that lists those of all
// instances. Output: one frame per second with the metrics service_* of the metric
// catalogue. It reads the metrics of client_golang's collectors, of Micrometer and
// HikariCP, histograms or summaries such as db_query_duration_seconds, and what an exporter of
// OpenTelemetry makes of the names of its semantic conventions; see sources and otelSources.
// Errors are read from counters with a label class, db_errors_total and
// service_errors_total, and from hikaricp_connections_timeout_total. At
// its start it also reads from which builds the instances were made: the labels of
// *_build_info.
package service
