// Package ledger gathers the identities of acknowledged and of persisted
// transactions, hashes them, and compares them as multisets: a count would let
// a loss and a duplicate cancel.
package ledger
