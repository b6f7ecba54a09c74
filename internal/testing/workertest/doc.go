// Package workertest makes a test binary a worker, when a run of the test starts it as
// one.
//
// Input: the test binary's arguments. Output: k6, or a worker.
package workertest
