// Package trial makes one judged run, for the commands that make one (certify) or
// many (search, experiment): run it with progress on the console, read the sealed
// record, judge it, write the verdict to InfluxDB, and, for certify, write the
// certificate and its reports into the run folder.
//
// Input: run.Options. Output: a Result, which is the sealed record and its verdict. The
// system that the load goes to is ready by then (package lab/system).
package trial
