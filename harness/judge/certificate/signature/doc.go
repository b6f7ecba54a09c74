// Package signature signs certificates and verifies their signatures: an in-toto
// Statement v1 about the manifest of the evidence, whose predicate is certificate.json
// verbatim, in a DSSE envelope, in a Sigstore bundle v0.3. cosign verifies its bundles
// too, given the public key.
//
// Input: keys and a certificate, as bytes. Output: bundles and keys as bytes; the
// statement of a bundle, and whether a key has signed it. A valid signature means that
// the issuer made the statement, not that it is true or that the verdict is PASS:
// package audit checks that.
package signature
