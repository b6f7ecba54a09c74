// Package metrictest checks frames, for the tests of the packages that send them: against
// the catalogue of metrics, and against what a stream of frames must be.
//
// Input: frames. Output: failures of the test, and histograms to compare with.
package metrictest
