// Package stubs joins the stubs of a profile to a run: it tells each stub the run's id and
// the start of its load, so that the stub's phases follow the run's clock, reads what the
// stub has counted, and at the end its ledger of calls.
//
// Input: the stub's URL and token, and what runs there (package lab/stub). Output: one frame
// per second of the source stub/NAME with the metrics stub_* of the metric catalogue, the
// lines of the ledger, and a fact for the record. What is missing is in its notes.
package stubs
