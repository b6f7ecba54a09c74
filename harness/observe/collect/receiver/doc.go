// Package receiver receives frames and acknowledged identities over HTTP and passes
// them on in order, each once. Frames are OTLP/HTTP protobuf, so that other generators
// and the service under test can send them too.
package receiver
