// Package wait is what is known about database waits: to which class an event
// or a session's state belongs, what it means, what would confirm it, and what
// helps (WAITS section 4).
//
// Input: classes.json, and a file in families for each family of servers, which
// knowledge.schema.json describes; a further family is a further file. Output:
// lookups. Collectors ask for the class when they sample, diagnosis for the rest.
package wait
