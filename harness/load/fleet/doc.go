// Package fleet runs the workers of a plan: it writes their k6 configuration, starts
// them through an engine, starts their load at one time when all are ready, watches
// them, and stops them.
//
// Input: a plan and a script. Output: workers that follow the plan and send their
// frames to the coordinator.
package fleet
