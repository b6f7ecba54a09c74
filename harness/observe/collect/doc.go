// Package collect is the common part of all sources of frames other than workers:
// the Collector interface, the count of seconds that labels their frames, and the
// Stream that numbers and sends them.
//
// Input: a database, a service's metrics endpoint, this host (one sub-package
// each). Output: one frame a second and source, and a closing frame. The
// sub-package receiver receives frames over HTTP instead.
package collect
