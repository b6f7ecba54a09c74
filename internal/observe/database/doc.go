// SPDX-License-Identifier: Apache-2.0

// Package database holds what the drivers of all database families have in
// common: parsed DSNs, open databases, dialects, classified server errors, and
// errors that name a remedy.
//
// Input: the first bytes that a server sends; beyond these, it knows no family. Output:
// the types that the drivers (collect/mysql, collect/postgres) fill in, that package
// databases selects from, and that ledger, preflight and experiments use.
package database
