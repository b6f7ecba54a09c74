// Package synthetic is a fleet without generators, to measure the coordinator: workers
// that join a run and send what real workers send, over the same links, but have
// measured nothing.
//
// Input: the coordinator's address and the shape of the run. Output: messages to the
// coordinator, and when they were acknowledged.
package synthetic
