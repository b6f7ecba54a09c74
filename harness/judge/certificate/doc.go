// Package certificate writes what a run was worth: certificate.json, whose
// fields are a public contract (certificate.schema.json beside this file). What
// people and CI read of it is the business of report below.
//
// Input: a record, its verdict and its waits. Output: bytes; the same for the
// same record. Where the files go is the caller's business.
package certificate
