// Package project is what a new project starts with: thresholds, scenarios,
// dashboards, a compose file and a CI job, all from the binary; or a profile that is
// proposed from access logs.
//
// Input: a folder, and the proposed profile. Output: files in the folder, none of which was
// there before.
package project
