// Package twowriters measures what the field report on two writers did: how throughput
// scales on one writer and on both, with separate schemas and with the same one; stale
// reads; the cost of connections; and the recovery after a writer was killed.
//
// Input: options, with the local stack in the topology multi-primary behind HAProxy.
// Output: a document, and its page.
package twowriters
