// Package longrun makes the record of a long run of a large fleet: every series of
// workers and collectors, second by second, with latencies drawn from a seed, to
// measure the cost of judging it.
//
// Input: a Shape. Output: a sealed run folder.
package longrun
