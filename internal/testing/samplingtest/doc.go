// Package samplingtest loads a database in a test, runs its collector, and sums up the
// frames.
//
// Input: an open database, and a collector of it. Output: frames, also as a timeline.
package samplingtest
