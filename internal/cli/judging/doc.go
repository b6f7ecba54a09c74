// Package judging holds the commands that judge recorded runs: verify, judge, compare,
// diagnose and frames. They make no load and link none of what makes it.
//
// Input: run folders. Output: commands for the programs assay and assay-verify.
package judging
