// Package report builds the pages of an experiment: a summary, and the full page with
// all metrics and runs.
//
// Input: the document of an experiment. Output: pages, which package page renders;
// the same for the same document. The page of an experiment that did not end by itself
// has no effects.
package report
