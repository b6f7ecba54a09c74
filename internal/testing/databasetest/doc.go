// Package databasetest emulates what stands before a database: AWS's certificate
// authority, its proxy that checks IAM tokens, and a pooler.
//
// Input: a real server. Output: PEM files, and an address that speaks TLS and checks
// tokens as RDS does.
package databasetest
