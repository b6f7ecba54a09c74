// Package gateway calls payment providers, one for each payment mode: over HTTP where a URL
// is configured, such as that of a stub; else they are simulated, with their latency, the
// payments they decline, and lost answers. A charge without an answer may be repeated.
//
// What is simulated is drawn from a seed and the payment's id, so that the same payment always
// has the same result, and repeated calls have the same answer.
//
// Input: a [Config], and the payment's mode and id. Output: an [Answer], after the
// latency.
package gateway
