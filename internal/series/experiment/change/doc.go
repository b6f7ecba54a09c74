// Package change applies a variant of an experiment, and reverts it: global
// variables, statements, options of the local stack's server and flags of its
// service, a command, binlog readers.
//
// Input: a variant, and the System to change. Output: the changed system, and a
// Journal with how to undo each change, written before it is made. Revert undoes a
// variant, Close everything; Replay undoes everything from the journal of an
// experiment that was killed.
package change
