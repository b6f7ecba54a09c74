// Package trials makes the trials of a search as runs: each a short run of the
// profile at one rate, in a sealed run folder of its own without a certificate,
// and keeps search.json after each.
//
// In: the search that is asked for, the profile as its trials run it, and the
// options that all runs share. Out: the search's document.
package trials
