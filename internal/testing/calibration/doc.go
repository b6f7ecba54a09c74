// Package calibration compares simulated runs with the tables of docs/calibration.md,
// or writes them there. It is for tests only.
//
// Input: rows of shares of runs, in percent. Output: test errors, where rows differ from
// the tables, or, for a sample of the runs behind a row, are not plausible.
package calibration
