// Package change puts a variant of an experiment in place, and takes it back:
// global variables, statements, options of the local stack's server and flags of
// its service, a command, readers of the binlog.
//
// In: a variant, and the world in which it is put in place. Out: the system set
// up in that way, and a journal in which stands how it was before, written
// before each change. Revert undoes what is the variant's, Close all; Replay
// does the same from the journal of an experiment that could not.
package change
