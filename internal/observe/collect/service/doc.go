// Package service collects from the service under test by scraping the Prometheus endpoint
// of each of its instances once per second, and adding them up: the use of the pools of
// database connections, the time that requests wait for a connection, the time in queries,
// the total time of requests and of downstream calls, and CPU time.
//
// Input: the URL of the endpoint of a single instance, or a function that lists those of all
// instances. Output: one frame per second with the metrics service_* of the metric
// catalogue, read from the families of sources, otelSources and errorSources; and, at the
// start, from which builds the instances were made (docs/service.md).
package service
