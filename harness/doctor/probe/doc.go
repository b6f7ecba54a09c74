// Package probe examines what a run needs: this machine, the folder of runs, the
// clock, the target, the database, InfluxDB. It judges nothing and changes
// nothing.
//
// Input: what to examine. Output: facts, each with its error where it could not be
// read. Every examination takes some seconds at most.
package probe
