// Package report builds what people and CI read of a certificate: a summary, a
// report for a pull request, the whole with charts, a diagnosis, and the checks of
// a JUnit report.
//
// Input: a certificate, and for the charts its record. Output: pages and suites,
// which package page renders; the same for the same input.
package report
