// Package audit checks a certificate: who signed it, that neither the certificate nor
// its evidence has changed, that it has not expired, and that the verdict follows
// from the evidence. An authentic certificate may state any verdict.
//
// Input: a run folder or a certificate, the issuer's public key, the time, and
// optionally the database as it is now. Output: a list of named checks.
package audit
