// SPDX-License-Identifier: Apache-2.0

// Package document writes the JSON documents of results: certificate, comparison,
// experiment, search and audit.
//
// Input: a struct with JSON tags, and measured values. Output: its text, and the values
// with the precision that all documents have.
package document
