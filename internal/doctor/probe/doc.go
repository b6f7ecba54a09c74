// Package probe examines what a run needs: this machine, the run folder, the clock, the
// target, the database, InfluxDB. It judges nothing, and changes nothing except that it
// creates a missing InfluxDB database.
//
// Input: what to examine. Output: facts, or the error why one could not be read. Every
// function takes a few seconds at most.
package probe
