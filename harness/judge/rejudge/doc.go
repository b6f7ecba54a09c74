// Package rejudge opens a record to be judged by other thresholds than those of its
// run: with their SLOs and limits of validity rules, and the run's load, scenario,
// time-out and ledger.
//
// Input: a sealed run folder and a thresholds file. Output: a record as any other.
package rejudge
