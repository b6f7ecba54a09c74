// Package receiver receives frames and acknowledged identities over HTTP and passes
// them on in order, each once.
//
// Input: OTLP/HTTP protobuf, so that other generators and the service under test can
// send frames too, and ledger entries as text. Output: calls of the Sinks.
package receiver
