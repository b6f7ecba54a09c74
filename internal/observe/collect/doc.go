// Package collect is what all sources of frames other than workers share: the
// Collector interface, Seconds, which labels their frames, and Stream, which numbers
// and sends them.
//
// Input: a database, a service's metrics endpoint, this host (one sub-package each).
// Output: one frame per second and source, then a closing frame. Sub-package receiver
// receives frames over HTTP instead.
package collect
