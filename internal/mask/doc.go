// SPDX-License-Identifier: Apache-2.0

// Package mask knows the secrets of this process and masks them in text, before the text
// is printed, written, sent or signed.
//
// A secret is registered where it is read: [Environment] registers those of the known
// variables, [Add] and [AddDSN] all others. It is found in each form in which programs
// print a value: as it is, escaped once or several times for JSON, Go, JavaScript, URLs,
// HTML, SQL or CSV, and in hexadecimal and base64, also as a part of a longer value.
//
// A part of a secret is not found: cut text from others only by [Cut] and [Line], which mask
// it first.
//
// Masking is for texts that are made seldom: errors, log lines, the labels of a new series.
// It is too slow for what happens at every request.
//
// Input: secrets, and text. Output: the text with *** in their place.
package mask
