// Package report shows a proposed profile to people.
//
// Input: the document. Output: a page.
package report
