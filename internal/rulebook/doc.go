// SPDX-License-Identifier: Apache-2.0

// Package rulebook is the table of the validity rules: when a run may be judged at all.
// What a rule is about, its limit, what it does to the verdict, what to do about it and
// where it comes from stand here once. The verdict applies the rules in the order of the
// table, thresholds.json may override those that the table says, and the table of
// docs/rulebook.md is generated from it.
//
// The package imports no other package of this project and does no I/O.
package rulebook
