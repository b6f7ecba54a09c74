// SPDX-License-Identifier: Apache-2.0

// Package compare compares two runs, or two groups of runs: for each metric the ratio
// of B to A, its interval, and whether it is a change (docs/comparing.md).
//
// Input: the certificates of A and of B. Output: a Comparison, the same for the
// same certificates: the package reads no clock, file, network or random
// source. It is not a verdict: B may be worse than A and still meet its SLOs.
package compare
