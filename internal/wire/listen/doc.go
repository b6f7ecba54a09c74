// Package listen is the coordinator's server: one port for workers and foreign senders,
// which only the run's token opens.
//
// Input: an address, a certificate, the token, a handler and the largest body of each
// path. Output: requests with the token, their bodies complete and decompressed, and
// the number of refusals by reason.
//
// HTTPS and, from this host only, plain HTTP: an OpenTelemetry SDK cannot easily be made
// to trust the certificate of one run. A connection counts against the limits until its
// first request with the token, so that whatever arrives without it, at any rate, leaves
// the connections of workers alone.
package listen
