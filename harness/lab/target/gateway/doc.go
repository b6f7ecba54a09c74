// Package gateway simulates payment providers, one for each payment mode: their latency,
// the payments they decline, and lost answers.
//
// Everything is drawn from a seed and the payment's id, so that the same payment always
// has the same result, and repeated calls have the same answer.
//
// Input: a [Config], and the payment's mode and id. Output: an [Answer], after the
// simulated latency.
package gateway
