// Package certificate writes certificate.json: the verdict on a run with its
// evidence. Its fields are a public contract, of which certificate.schema.json is
// generated. Package report below builds the pages that people and CI read.
//
// Input: a record, its verdict and its waits. Output: bytes; the same for the
// same record. The caller writes the files.
package certificate
