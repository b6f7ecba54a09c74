// Package databasetest emulates what AWS adds to a database: a certificate authority,
// and a proxy that checks IAM tokens.
//
// Input: a real server. Output: PEM files, and an address that speaks TLS and checks
// tokens as RDS does.
package databasetest
