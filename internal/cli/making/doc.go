// Package making holds the options that all commands share that make runs, and prepares the
// system under test for them.
//
// Input: a command line and the environment. Output: options of runs, and a system.
package making
