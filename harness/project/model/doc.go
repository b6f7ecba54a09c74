// Package model proposes a profile for a match day from the requests of an access log.
//
// Input: a tally of requests. Output: a Document with flows, the rates of each and the steps
// that they took, and the files of a profile with one script a flow. The same tally gives the
// same bytes. Nothing of it names a person: identifiers in paths are {id}, keys are counted
// and not kept.
//
// The packages below are the steps on the way: accesslog parses lines, route and traffic
// make templates of paths and count requests, keys measures how unevenly keys are requested.
package model
