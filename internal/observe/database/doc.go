// SPDX-License-Identifier: Apache-2.0

// Package database holds what the drivers of all database families have in
// common: parsed DSNs, open databases, dialects, classified server errors, and
// errors that name a remedy.
//
// Input: the first bytes that a server sends; beyond these, it knows no family. Output:
// Store, which ledger and preflight use, and that of SQL; the types that the drivers
// (collect/mysql, collect/postgres) fill in, and that package databases selects from.
package database
