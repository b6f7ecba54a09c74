// Package databases lists the drivers of the supported database families and selects
// the one for a DSN.
//
// To add a family, write a package next to collect/mysql, add a line to drivers, and
// describe its waits in a file of package wait.
//
// Input: a DSN. Output: its driver, and shortcuts to the driver's methods.
package databases
