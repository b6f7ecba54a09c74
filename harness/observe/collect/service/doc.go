// Package service collects from the service under test by scraping its Prometheus endpoint
// once per second: the use of its database connection pool, the time that requests wait
// for a connection, the time in queries, the total time of requests and of downstream
// calls, and CPU time.
//
// Input: the URL of the endpoint. Output: one frame per second with the metrics service_*
// of the metric catalogue. It reads the metrics of client_golang's collectors, of
// Micrometer and HikariCP, and histograms or summaries such as db_query_duration_seconds;
// see sources. At its start it also reads from which builds the service was made: the
// labels of *_build_info.
package service
