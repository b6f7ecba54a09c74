// Package calibration compares simulated runs with the tables of docs/calibration.md,
// or writes them there. It is for tests only.
//
// Input: rows of shares of runs, in percent. Output: errors of a test where rows differ
// from the tables, or, of a few of the runs behind a row, are not what they would be by
// chance.
package calibration
