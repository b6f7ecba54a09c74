// Package metrictest compares frames with the catalogue of metrics, for the tests of
// the packages that send them.
//
// Input: frames. Output: their differences from the catalogue.
package metrictest
