// Package receiver takes frames and acknowledged identities over HTTP and hands
// them on in order, each once: OTLP/HTTP protobuf, so that other generators and
// the service under test can send theirs too.
package receiver
