// SPDX-License-Identifier: Apache-2.0

// Package certificate builds certificate.json: the verdict on a run with its
// evidence. Its fields are a public contract; certificate.schema.json is generated
// from the structs. Subpackage report builds the pages that people and CI read.
//
// Input: a record and its verdict. Output: a Certificate and its JSON, the same for
// the same record. The caller writes the files.
package certificate
