// Package polltest waits, in tests, for what happens soon but not at a known time.
//
// Input: a condition. Output: it returns once the condition holds, or fails the test.
package polltest
