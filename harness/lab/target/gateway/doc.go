// Package gateway simulates payment providers, one for each payment mode: how
// long each takes to answer, which payments it declines, and whose answers are
// lost.
//
// Everything about a payment is drawn from a seed and the payment's id, so the
// same payment fares the same again, whatever else goes on at the time, and a
// provider that is asked twice says the same twice.
//
// Input: a [Config], and the payment's mode and id. Output: an [Answer], after
// the time that it took.
package gateway
