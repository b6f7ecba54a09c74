// Package journal stores on disk how to undo the changes of an experiment, so that
// the next command can undo them if the experiment was killed.
//
// Input: steps, each written and synced before the change is made. Output: the steps
// that were not undone yet. It holds no secret: a database is named without its
// password. Nothing here locks: the caller has locked the folder (localstack.Reserve).
package journal
