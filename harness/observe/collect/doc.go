// Package collect is what all sources of frames beside the workers share: the
// Collector interface, the count of seconds that labels their frames, and the
// Stream that numbers and sends them.
//
// Input: a database, a service's metrics endpoint, this host (one sub-package
// each). Output: one frame a second and source, and a closing frame. The
// sub-package receiver takes frames from elsewhere instead.
package collect
