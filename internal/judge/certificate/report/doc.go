// SPDX-License-Identifier: Apache-2.0

// Package report builds the pages of a certificate for people and CI: a summary for the
// terminal, a report for a pull request, the full page with charts, a diagnosis, and the
// suites of a JUnit report.
//
// Input: a certificate, and for the charts its record. Output: pages and suites, which
// package page renders; the same for the same input.
package report
