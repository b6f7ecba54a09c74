// Package system makes the system under test ready for runs: the one that --target
// names, or else the local stack, which it starts where it is not up. It also sets
// back what an experiment left changed in that system when it was killed.
//
// In: what the command line and the environment name. Out: a System, whose address,
// database and InfluxDB go into the options of each run, to be released after the
// last one.
package system
