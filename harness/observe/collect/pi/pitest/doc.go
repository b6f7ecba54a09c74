// Package pitest answers as the Performance Insights API is documented to:
// GetResourceMetrics in AWS's JSON protocol 1.1, signed requests only, in pages,
// late, and refusing in the documented ways.
//
// In: a load by second. Out: a server on loopback, and the environment that leads
// the SDK to it.
package pitest
