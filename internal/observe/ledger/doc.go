// SPDX-License-Identifier: Apache-2.0

// Package ledger compares the acknowledged with the persisted transactions of a run,
// by hashed identity as multisets: plain counts would let a loss and a duplicate
// cancel.
//
// Input: identities with their times, from workers and from the profile's query.
// Output: entries and batches of them as text, and a Comparison.
package ledger
