// Package trials makes the trials of a search: each is a short run of the profile at
// one rate, in its own sealed run folder without a certificate. It writes search.json
// after each.
//
// Input: the parameters of the search, the shortened profile, and the options common
// to all runs. Output: the search's document.
package trials
