// Package scale measures how throughput grows with load: at numbers of threads (the closed
// model) and at rates (the open model), for several variants of a system, such as one
// writer and two. Steps are short runs; they certify nothing.
//
// Input: what is compared, and the sealed record of each step. Output: a document with the
// curves, the ratio of each variant to the first one over pairs of steps, and the fit of
// the Universal Scalability Law as advice.
package scale
