// Package fleet is the coordinator's side of the workers: they join, get their share of
// the plan, start their load at one time when all are ready, and are watched until each
// has ended.
//
// Input: a plan and a script. Output: workers that follow the plan and send their frames
// to the receiver, and how each ended.
//
// A new way to start workers is a package with an Engine, a line of the table in
// cmd/assay/engines.go, and a paragraph of docs/fleets.md.
package fleet
