// Package database holds what the drivers of all database families have in
// common: what a DSN says, an open database, the dialect in which its servers are
// asked, what servers answer instead of doing as asked, and errors that name a
// remedy.
//
// Input: nothing; it knows no family. Output: the types that the drivers
// (collect/mysql, collect/postgres) fill in, that package databases chooses among,
// and that ledger, preflight and experiments use.
package database
