// Package longrun writes a synthetic record of a long run of a large fleet, to measure
// the cost of judging it: every series of workers and collectors for each second, with
// random latencies from a fixed seed.
//
// Input: a Shape. Output: a sealed run folder.
package longrun
