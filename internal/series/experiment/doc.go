// Package experiment makes interleaved A/B runs of one profile under named
// variants, and compares them.
//
// The pure part: Round orders the runs of a round, Conclude compares two groups of
// runs. Run is the loop: it applies variants, has runs made, reverts variants, and
// builds Document, the content of experiment.json.
//
// Input: an experiment file, and a Loop that makes runs. Output: a Document. An
// interrupted experiment has no result; one that was interrupted during its searches
// only lacks the capacities.
package experiment
