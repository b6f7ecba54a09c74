// Package run carries one run from its plan to a sealed record: preflight,
// record, coordinator, workers, collectors, load, ledger, seal, in this order.
// No other package knows all of these parts.
//
// Input: Options. Output: a sealed run folder; or an error and no folder if the run never
// started.
package run
