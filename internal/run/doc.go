// Package run carries one run from its plan to a sealed record. Its phases follow one another,
// each made from the one before, in the files preflight.go, gather.go (the crew of workers),
// open.go (plan and record), start.go (shares, barrier, t0), measure.go (collectors), load.go,
// drain.go and seal.go; resume.go enters at load.go. What is sent meanwhile goes through
// intake.go. No other package knows all of these parts.
//
// Input: Options. Output: a sealed run folder; or an error and no folder if the run never
// started.
package run
