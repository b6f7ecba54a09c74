// Package gateway simulates payment providers, one for each payment mode: how long each
// takes to answer, which payments it declines, and which answers are lost.
//
// Everything is drawn from a seed and the payment's id, so that the same payment always
// has the same result, and repeated calls have the same answer.
//
// Input: a [Config], and the payment's mode and id. Output: an [Answer], after the time
// that it took.
package gateway
