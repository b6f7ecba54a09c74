// SPDX-License-Identifier: Apache-2.0

// Package metric is the data model of everything measured: a Series has a name and
// labels, a Point is the value of a counter, a gauge or a histogram of one series,
// and a Frame holds the points of one second from one source.
//
// Frames are additive: merging the frames of many sources, or several frames
// of one second, in any order, gives the same numbers. Their format on the wire
// and on disk is OTLP (Encode, Decode).
//
// Other senders can contribute by OTLP too (DecodeExport): an Accumulation makes frames
// of their points, with increases from totals, and histograms as coarse as they are.
//
// The package imports no other package of this project and does no I/O.
package metric
