// SPDX-License-Identifier: Apache-2.0

// Package build builds the certificate of a judged record: the verdict on a run with its
// evidence. Package report, beside it, builds the pages that people and CI read.
//
// Input: a record and its verdict. Output: a Certificate, the same for the same record.
package build
