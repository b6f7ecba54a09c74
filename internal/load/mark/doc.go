// Package mark marks the HTTP requests of a run, so that the system under test, its
// traces and its logs can tell them from real ones: with a header that holds the run's
// id, with baggage, and with a traceparent (W3C Trace Context) whose trace id names the
// transaction.
//
// Input: the run's id and seed, the scenario and the number of each transaction. Output:
// headers of its requests, and the trace id under which it is found in the service.
package mark
