// Package steps makes the runs of a scaling measurement: each is a short run of the profile
// in its own sealed run folder without a certificate. It writes scale.json after each.
//
// Input: the parameters, the profile, and the options common to all runs. Output: the
// document.
package steps
