// Package otlp pushes a Prometheus registry by OTLP/HTTP, as delta temporality:
// each push holds what has come since the last one that succeeded, so that a
// receiver may add them up.
//
// Input: a registry, and a base URL or the standard environment
// (OTEL_EXPORTER_OTLP_ENDPOINT and the like). Output: a push a second. Headers,
// such as tokens, come from OTEL_EXPORTER_OTLP_HEADERS alone.
package otlp
