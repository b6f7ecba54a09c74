// Package database opens the database of a run, and tells of it without its
// password.
//
// Input: a DSN: postgres://..., or in the form of MySQL's driver, with a file of
// certificate authorities and IAM's tokens of AWS as parameters of ours; or the
// name of an instance in Performance Insights. Output: a connection whose times
// are UTC, the driver's configuration for those who make their own, and words for
// people. Which family of servers a DSN is of is told here, and nowhere else.
package database
