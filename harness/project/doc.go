// Package project is what a new project starts with: thresholds, scenarios,
// dashboards, a compose file and a CI job, all from the binary.
//
// Input: a folder. Output: files in it, none of which was there before.
package project
