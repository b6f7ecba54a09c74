// Package statefile keeps small facts about running things, secrets among them,
// between processes.
//
// In and out: values that encoding/json can write. A reader sees the old file
// or the new one, never half of it, and nobody but the owner sees either.
package statefile
