// Package wait is what is known about database waits: to which class an event
// or a session's state belongs, what it means, what would confirm it, and what
// helps (WAITS section 4).
//
// Input: knowledge.json, which knowledge.schema.json describes. Output: lookups.
// Collectors ask for the class when they sample, diagnosis for the rest.
package wait
