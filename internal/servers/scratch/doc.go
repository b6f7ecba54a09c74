// Package scratch makes temporary folders that are left behind by no process for long: the
// next one that makes such a folder removes those of processes that were killed.
//
// Input: a parent and a prefix. Output: a locked folder, and the function that removes it.
package scratch
