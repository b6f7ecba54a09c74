// Package otlptest receives, in tests, the metrics that the reference service pushes.
//
// Input: pushes by OTLP/HTTP with a token. Output: their frames, as a run's receiver
// decodes them.
package otlptest
