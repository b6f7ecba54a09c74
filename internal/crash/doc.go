// SPDX-License-Identifier: Apache-2.0

// Package crash is the boundary between a mistake in this program and its process: a panic
// becomes an error of one line, and ends the command in order, so that databases are
// restored, workers ended and temporary folders removed.
//
// Input: functions and goroutines. Output: their panics as errors, to the caller or to the
// command that Watch names. Running out of memory, and two goroutines that write one map,
// end a process in any case.
package crash
