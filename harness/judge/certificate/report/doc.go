// Package report turns a certificate into what people and CI read: the summary
// on a terminal, JUnit XML, Markdown, and one HTML page with charts.
//
// Input: a certificate, and for the charts its record. Output: bytes; the same
// for the same input. Names and texts in a certificate come from scripts,
// services and databases: each format escapes, cleans and bounds them its own
// way. Where the files go is the caller's business.
package report
