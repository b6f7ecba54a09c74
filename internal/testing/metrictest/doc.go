// Package metrictest checks frames, for the tests of the packages that send them: against
// the catalogue of metrics, against what a stream of frames must be, and histograms
// against the values recorded in them.
//
// Input: frames, histograms, values. Output: failures of the test, and histograms to
// compare with.
package metrictest
