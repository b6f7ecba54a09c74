// SPDX-License-Identifier: Apache-2.0

// Package stats is the statistics of a verdict: what the samples show about this run
// (Count), and what autocorrelated samples show about the system beyond the run
// (Test.Infer).
//
// Input: counts by second or by batch, a batch being consecutive seconds of the judged
// windows. Output: outcomes, design effects, correlation times, intervals, trends. All
// functions are pure, and document their formula, its source, and their result without
// data. docs/calibration.md is the specification; Confidence, MinFactor, FewFactor and
// BatchFactor come from the calibration tests (docs/calibration.md).
package stats
