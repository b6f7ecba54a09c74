// Package report builds what people read of a comparison: a summary, the whole,
// and its table of metrics, which the report of an experiment has too.
//
// Input: a comparison. Output: pages, which package page renders; the same for the
// same comparison.
package report
