// Package experiment makes interleaved A/B runs of one profile under named
// variants, and compares them.
//
// The pure part: Round orders the runs of a round, Conclude compares two groups of
// runs. Run is the loop: it applies variants, has runs made, reverts variants, and
// builds Document, the content of experiment.json. Session is the loop's work: it opens
// the experiment's file, makes the runs and searches, restores the system however the
// experiment ends, and writes the result next to the run folders.
//
// Input: an experiment file, the thresholds file, and the options common to all runs.
// Output: a Document and its pages. An interrupted experiment has no result; one that was
// interrupted during its searches only lacks the capacities.
package experiment
