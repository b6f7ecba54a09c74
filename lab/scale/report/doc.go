// Package report builds the page of a scaling measurement.
//
// Input: its document. Output: a page, which package page renders.
package report
