// Package stats is the arithmetic behind a verdict: what the samples of a run
// show (Count), and what a sample of autocorrelated observations says about the
// system beyond the run (Test.Infer).
//
// Input: counts by whole second or by batch, a batch being a stretch of seconds
// of the judged windows. Output: outcomes, design effects, correlation times,
// intervals, trends. Everything is pure, and states its formula, its source, and
// what it does with no data. RULEBOOK section 2 is the specification; the figures
// behind Confidence, LeastFactor, FewFactor and Earning come from the calibration
// tests and stand in docs/calibration.md.
package stats
