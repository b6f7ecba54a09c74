// Package fleet runs the workers of a plan: it writes their k6 configuration, starts
// them through an engine, lets them start together when all are ready, watches them,
// and stops them.
//
// Input: a plan and a script. Output: workers that follow it, whose frames go
// to the coordinator's address.
package fleet
