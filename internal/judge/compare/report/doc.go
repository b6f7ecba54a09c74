// SPDX-License-Identifier: Apache-2.0

// Package report builds the pages of a comparison: a summary, the full page, and the
// table of metrics, which the pages of an experiment include too.
//
// Input: a comparison. Output: pages, which package page renders; the same for the
// same comparison.
package report
