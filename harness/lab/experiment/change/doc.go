// Package change applies a variant of an experiment, and reverts it: global
// variables, statements, options of the local stack's server and flags of its
// service, a command, readers of the binlog.
//
// Input: a variant, and the world in which it is applied. Output: the system set up
// in that way, and a journal of how it was before, written before each change. Revert
// undoes the variant, Close everything; Replay does the same from the journal of an
// experiment that was killed.
package change
