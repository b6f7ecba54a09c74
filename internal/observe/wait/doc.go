// SPDX-License-Identifier: Apache-2.0

// Package wait is the knowledge base of database waits: the class of a wait event or of
// a session's state, its meaning, how to confirm it as the cause, and its remedy
// (docs/waits.md, Events).
//
// Input: classes.json, and a file in families for each family of servers, both described
// by knowledge.schema.json; to support a further family, add a file. Output: lookups, of
// the class for collectors, of the rest for diagnosis.
package wait
