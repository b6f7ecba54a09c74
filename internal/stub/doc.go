// Package stub stands in for a service that the system under test calls, such as a slow
// bank, during a load test: endpoints with the latencies, failures and limits of a stub file
// (spec.StubFile), which its phases change for a part of the run.
//
// A call is worked on for a latency that is drawn from the seed, the endpoint and the number
// of the call in the run, so that a run can be repeated. At an endpoint with a limited
// concurrency, further calls wait in a queue, first come, first served; a call whose caller
// has left keeps its place, and is worked on, as in a real bank: this is what makes retries
// keep an overload alive.
//
// Input: a stub file, and a run that tells its id and the start of its load (package
// observe/collect/stubs has the protocol). Output: HTTP responses, counts by endpoint, and a
// ledger of the run's calls.
package stub
