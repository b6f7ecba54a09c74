// Package report builds what people read of an experiment: a summary, and the
// whole with all metrics and runs.
//
// Input: the document of an experiment. Output: pages, which package page renders;
// the same for the same document. One that was cut short is shown without figures.
package report
