// Package metric holds what everything measured looks like: a Series has a
// name and labels, a Point is a counter, a gauge or a histogram of one series,
// and a Frame is the points of one second from one source.
//
// Frames are additive: merging the frames of many sources, or several frames
// of one second, in any order, gives the same numbers. Their form on the wire
// and on disk is OTLP (Encode, Decode), so that other senders can take part.
//
// The package imports nothing of this project and does no I/O.
package metric
