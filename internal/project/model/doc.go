// Package model proposes a profile for a match day from the requests of an access log.
//
// Input: a tally of requests. Output: a Document with flows, the rates of each and the steps
// that they took, and the files of a profile with one script a flow. The same tally gives the
// same bytes. Of what may name a person, identifiers in paths are {id}, and keys are counted
// and not kept. A name in a path that looks like a word, and is one of few, is not recognised:
// it stays in templates, names of flows and scripts, and the document says below which
// prefixes that may be (MayBeNames).
//
// The packages below are the steps on the way: accesslog parses lines, route and traffic
// make templates of paths and count requests, keys measures how unevenly keys are requested.
package model
