// Package signature signs a certificate and reads such signatures: an in-toto
// Statement v1 about the manifest of the evidence, whose predicate is
// certificate.json verbatim, in a DSSE envelope, in a Sigstore bundle v0.3.
// What it writes cosign verifies too, given the public key.
//
// Input: key material and a certificate, as bytes. Output: bundles and keys as
// bytes, and of a bundle what it states and whether a key has signed it. That a
// signature holds means that its issuer has stated this, not that it is true
// nor that the verdict is PASS: package audit looks into that.
package signature
