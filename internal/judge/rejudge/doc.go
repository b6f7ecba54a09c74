// SPDX-License-Identifier: Apache-2.0

// Package rejudge opens a record to be judged by other thresholds than those of its
// run: SLOs and limits of validity rules come from the thresholds; load, scenario,
// timeout and ledger remain those of the run.
//
// Input: a sealed run folder and a thresholds file. Output: a record.
package rejudge
