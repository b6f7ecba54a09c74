// Package system prepares the system under test for runs: the --target, or else the
// local stack, which it starts if it is down. It first undoes the changes of an
// experiment on that system that was killed.
//
// Input: options of the command line and the environment. Output: a System, whose
// address, database and InfluxDB go into the options of each run. It has to be released
// after the last run.
package system
