// SPDX-License-Identifier: Apache-2.0

// Package certificate reads the certificates of Assay, and checks who has signed them.
//
// A certificate, certificate.json, is the verdict on a load test with its evidence: that a
// system sustained a rate within its SLOs, or that it did not. Certificate and the types in it
// are its fields, of which more are added in later versions and none is renamed; Schema is
// its JSON Schema. In all of them nil is "no data", which is never 0.
//
// A valid signature (Verify) means that the owner of the key has made the statement, not that
// it is true, nor that the verdict is PASS: read Certificate.Verdict, Certificate.Expires and
// Certificate.Scope. The program assay-verify computes the verdict again from the record.
package certificate
