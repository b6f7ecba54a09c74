// Package stats is the arithmetic behind a verdict: what a sample of
// autocorrelated observations says about the system beyond the run.
//
// Input: counts and values by batch, a batch being a stretch of whole seconds
// of the judged windows. Output: design effects, the outcome of the binomial
// test, intervals, trends. Everything is pure, and states its formula, its
// source, and what it does with no data. RULEBOOK section 2 is the
// specification; the figures behind Confidence and LeastFactor come from the
// calibration test of package verdict and stand in docs/calibration.md.
package stats
