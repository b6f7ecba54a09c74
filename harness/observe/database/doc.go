// Package database opens the database of a run, and tells of it without its
// password.
//
// Input: a DSN in the driver's form. Output: a connection whose times are UTC,
// and words for people.
package database
