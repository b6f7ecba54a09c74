// Package processtest starts the child processes of tests.
//
// Input: a command. Output: a process, killed with its process group when the test ends.
package processtest
