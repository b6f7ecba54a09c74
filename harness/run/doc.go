// Package run carries one run from its plan to a sealed record: preflight,
// record, coordinator, workers, collectors, load, ledger, seal, in this order.
// It is the only package that knows them all.
//
// Input: Options. Output: a sealed run folder; or an error and no folder, where
// the run never started.
package run
