// SPDX-License-Identifier: Apache-2.0

// Package spec decodes what a user requests: the profiles of thresholds.json, experiment
// and stub files. Input: the file's bytes; output: a File of Profiles, in which
// omitted keys have their defaults, or Errors, each of which names file, line, place
// and the nearest valid word. It is pure: the caller reads the file.
//
// A key is described once, in the schema of its kind of file, *.schema.json: its type, range
// and form, an example, and the words of errors. fill decodes it into the field of its name.
// Only what a schema cannot say, such as how keys depend on each other's values, is a check in Go.
package spec
