// SPDX-License-Identifier: Apache-2.0

// Package issue writes certificates and the files that show them into a run folder, signed
// if there is a key. A certificate that a key signs says whether that key has also sealed
// the record. Judging again never destroys a signature: without the key, a signed
// certificate that is unchanged keeps its signature, and replacing it by another is
// refused. Nothing is written outside the run folder, whatever links are in it.
//
// Input: a certificate, its folder, the files, optionally a key. Output: certificate.json,
// the files, and certificate.sigstore.json, which covers them all.
package issue
