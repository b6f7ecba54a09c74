// Package record writes and reads the run folder: every frame and fact of a run,
// appended while it runs, sealed when it ends, and the only input of the verdict.
//
// Input: frames from the receiver and collectors, facts from the run. Output:
// evidence/ with its manifest, and Open, which returns them as a Run.
package record
