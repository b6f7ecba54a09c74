// Package source simulates systems with a known distribution of latency, by which
// package stats and the rules of a verdict are calibrated.
//
// Input: a random source, a rate and a length. Output: for each transaction when it was
// due and how long it took; and the latency that a given share of all transactions
// reaches or exceeds in the long run. It is for tests only.
package source
