// Package session carries out one experiment of a file: it puts the variants in
// place, makes the runs and searches, sets back what was changed however it ends,
// and writes the result into the experiment's folder.
//
// In: the experiment's and the profile's file, and the options that all runs share.
// Out: experiment.json, .md and .html, beside the run folders.
package session
