// Command assay certifies, before a high-velocity event, that a system sustains
// its target rate within its SLOs. Each command parses its arguments, calls the
// package that does the work, and turns the result into an exit code.
package main
