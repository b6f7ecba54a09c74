// Package databases lists the database families that Assay knows, one Driver each,
// and chooses the driver of a DSN.
//
// A further family is one package beside collect/mysql, a line in drivers, and what
// its waits mean, as a file in package wait.
//
// Input: a DSN. Output: its driver, and what that does with the DSN.
package databases
