// Package probe finds out what there is before a run: this machine, the folder
// of runs, the clock, the target, the database, InfluxDB. It judges nothing,
// and changes nothing.
//
// Input: what to look at. Output: facts, each with its error where it could not
// be found out. Every look has a limit of some seconds.
package probe
