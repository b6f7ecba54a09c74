// Package cli is what the commands of all programs share: how a command line is run, ended
// by an interrupt and given an exit code, how errors and results are printed, and how
// arguments are checked.
//
// Input: a tree of commands and the arguments. Output: text on stdout and stderr, and an exit
// code.
package cli
