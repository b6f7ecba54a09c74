// Package report shows a comparison to people: as a table for the terminal, at
// most 100 columns wide, and as an HTML page that needs nothing else.
//
// Input: a comparison. Output: text, the same for the same comparison.
package report
