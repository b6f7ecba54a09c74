// Package session carries out the experiment of a file: it applies the variants,
// makes the runs and searches, restores the system however the experiment ends, and
// writes the result to the experiment's folder.
//
// Input: the experiment's file, the thresholds file, and the options common to all
// runs. Output: experiment.json, .md and .html, next to the run folders.
package session
