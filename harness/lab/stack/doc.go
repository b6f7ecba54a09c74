// Package stack runs the local lab: a database server, the reference service that
// uses it, and InfluxDB for views of runs, all on the loopback address, below one
// folder.
//
// In: a folder and ports. Out: processes that outlive the command that started
// them, and the State file in which the next command finds them: their identities,
// ports, users and passwords. `assay stack up|down|status` call Up, Down and Status.
package stack
