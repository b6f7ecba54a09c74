// SPDX-License-Identifier: Apache-2.0

// Package spec decodes what a user requests: the profiles of thresholds.json and
// experiment files. Input: the file's bytes; output: a File of Profiles, in which
// omitted keys have their defaults, or Errors, each of which names file, line, place
// and the nearest valid word. It is pure: the caller reads the file.
package spec
