// SPDX-License-Identifier: Apache-2.0

// Package signature signs certificates and records, and verifies their signatures. A
// signature is a Sigstore bundle v0.3 with a DSSE envelope with an in-toto Statement v1:
// its subjects are the manifest of the evidence and the files that show the certificate,
// its predicate is certificate.json verbatim. A seal, which a run makes of its record, has
// the manifest alone and the run. cosign can verify these bundles too, given the public
// key.
//
// Input: keys and a certificate, as bytes. Output: bundles and keys as bytes; the
// statement of a bundle, and whether a given key signed it. A valid signature means that
// the issuer made the statement, not that it is true or that the verdict is PASS:
// package audit checks that.
package signature
