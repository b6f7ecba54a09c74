// Package audit tells whether a certificate can be relied upon: who signed it,
// that nothing of it or of its evidence has changed, that it still holds, and
// that the verdict follows from the evidence. Authentic is one thing, PASS
// another.
//
// Input: a run folder or a certificate, the issuer's public key, the time, and
// perhaps the database as it is now. Output: a list of checks, each by name.
package audit
