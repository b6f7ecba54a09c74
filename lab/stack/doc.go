// Package stack runs the local lab: a database server, the reference service that
// uses it, and InfluxDB for views of runs, all on the loopback address, below one
// folder.
//
// Input: a folder and ports. Output: processes that outlive the command that started
// them, and a state file by which the next command finds them, with their identities,
// ports, users and passwords. `assay-lab stack up|down|status` call Up, Down and Status.
package stack
