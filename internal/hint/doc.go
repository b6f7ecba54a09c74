// SPDX-License-Identifier: Apache-2.0

// Package hint attaches the next step to an error.
//
// Input: an error of one line, which says what is wrong and where. Output: an error with
// the same text that wraps it, and whose next step Of returns. The command prints
// both: "assay: the error", and below it "hint: the next step".
package hint
