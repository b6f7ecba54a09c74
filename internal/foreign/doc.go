// SPDX-License-Identifier: Apache-2.0

// Package foreign is the boundary to what strangers hand us: text and bytes that parsers
// read, and files of a folder that somebody else wrote.
//
// Input: a parser's panic, or the path of a file. Output: an error instead of the panic;
// the file's content if it is a regular file within a limit.
package foreign
