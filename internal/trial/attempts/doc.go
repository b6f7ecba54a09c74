// Package attempts counts the runs of a profile, wherever their records are: a system at its
// limits that is tried often enough passes at some time.
//
// Input: the plan and the environment of a run that begins, and its verdict. Output: how many
// runs of the same profile at the same target and revision there were before, by their
// verdicts. They are kept in a journal of the project, .assay/attempts.jsonl beside
// thresholds.json: a line when the load of a run begins, so that an interrupted or killed run
// counts too, and a line with its verdict. Runs of the folder of runs that the journal does
// not have count as well.
package attempts
