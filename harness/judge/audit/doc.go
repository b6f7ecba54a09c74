// Package audit checks whether a certificate can be relied upon: who signed it,
// whether it or its evidence was changed, whether it has expired, and whether the
// verdict follows from the evidence. An authentic certificate may be a FAIL.
//
// Input: a run folder or a certificate, the issuer's public key, the time, and
// perhaps the database as it is now. Output: a list of checks, each by name.
package audit
