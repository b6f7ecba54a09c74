// Package journal keeps on disk what an experiment has changed and how it is
// undone, so that whoever comes next can undo it, however the experiment ended.
//
// In: steps, each written and synced before what it undoes is done. Out: the
// steps that are still to be taken. No secret is in it: a database is named
// without its password. Nothing here locks: who uses a journal has occupied the
// folder (stack.Occupy).
package journal
