// Package stats is the statistics of a verdict: what the samples of a run show
// (Count), and what autocorrelated samples say about the system beyond the run
// (Test.Infer).
//
// Input: counts by whole second or by batch, a batch being consecutive seconds of the
// judged windows. Output: outcomes, design effects, correlation times, intervals,
// trends. Everything is pure, and states its formula, its source, and its result
// without data. RULEBOOK section 2 is the specification; Confidence, LeastFactor,
// FewFactor and BatchFactor come from the calibration tests (docs/calibration.md).
package stats
