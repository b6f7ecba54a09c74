// Package rejudge opens a record to be judged by other thresholds than those
// that its run was made with: their SLOs and limits of validity rules, the
// run's load, scenario, timeout and ledger.
//
// Input: a sealed run folder and a thresholds file. Output: a record that the
// verdict reads like any other.
package rejudge
