// Package report builds the pages of an experiment: a summary, and the full page with
// all metrics and runs.
//
// Input: the document of an experiment. Output: pages, which package page renders.
// The page of an interrupted experiment shows no effects.
package report
