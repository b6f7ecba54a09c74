// Package report shows an experiment to people: on a terminal, as Markdown, and
// as an HTML page that needs nothing else.
//
// Input: the document of an experiment. Output: text, the same for the same
// document. One that was cut short is shown without figures.
package report
