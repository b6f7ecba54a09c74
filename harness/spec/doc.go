// Package spec holds what is asked: the profiles of thresholds.json, decoded
// strictly. Input: the file's bytes; output: a File of Profiles, in which what was
// left out has its default, or Errors, each of which names file, line, place and
// the nearest valid word. It is pure: reading the file is the caller's business.
package spec
