// SPDX-License-Identifier: Apache-2.0

// Package audit verifies a certificate: its signature, that neither the certificate nor
// its evidence has changed, that it has not expired, and that the verdict follows from
// the evidence. An authentic certificate may state any verdict.
//
// Input: a run folder or a certificate, the issuer's public key, the time, and
// optionally the current state of the database. Output: a list of named checks.
package audit
