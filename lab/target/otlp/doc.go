// Package otlp pushes a Prometheus registry by OTLP/HTTP with delta temporality: each
// push has the increases since the last successful one, so that a receiver may add them
// up.
//
// Input: a registry, and a base URL or the standard environment
// (OTEL_EXPORTER_OTLP_ENDPOINT and similar). Output: a push per second. Headers, such as
// tokens, come only from OTEL_EXPORTER_OTLP_HEADERS.
package otlp
