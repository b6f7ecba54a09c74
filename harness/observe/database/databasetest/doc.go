// Package databasetest stands in for what AWS puts around a database: an
// authority for its certificates, and a door that lets in who has a token of
// IAM.
//
// In: a real server. Out: PEM files, and an address that speaks TLS and checks
// tokens as RDS does.
package databasetest
