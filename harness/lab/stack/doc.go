// Package stack runs the local lab: a database server, the reference service on
// it, and InfluxDB for views of runs, all on the loopback address only, below one folder.
//
// In: a folder and ports. Out: processes that outlive the command that started
// them, and the State file in which the next command finds them again: their
// identities, ports, users and passwords. Up, Down and Status are what
// `assay stack up|down|status` calls.
package stack
