// Package pitest implements the Performance Insights API as documented:
// GetResourceMetrics in AWS's JSON protocol 1.1, for signed requests only, with pages,
// delayed publication and the documented errors.
//
// Input: a load by second. Output: a server on loopback, and the environment variables
// that make the SDK use it.
package pitest
