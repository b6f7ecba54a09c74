//go:build live

package stack

// Table begins the names of the tables of the packet filter of a stack.
func Table(dir string) string { return folder{dir}.table() }
