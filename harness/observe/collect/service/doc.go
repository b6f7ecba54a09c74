// Package service collects from the service under test, by scraping its
// Prometheus endpoint once a second: how its connection pool is used, how long
// requests wait for a connection, and apart from that how long queries take; how
// long requests take in all, and calls downstream; CPU time.
//
// Input: the URL of the endpoint. Output: one frame a second with the metrics
// that start with service_ in metric's catalogue. It reads the names that Go
// services have from client_golang's collectors, those of Micrometer and
// HikariCP, and histograms or summaries like db_query_duration_seconds: see
// sources. Once, at its start, it reads
// what the service was built from: the labels of *_build_info.
package service
