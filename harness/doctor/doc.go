// Package doctor is the preflight: what this machine, the target and the
// database lack for what is to be run.
//
// Input: a Subject, the profiles with their plans and what they are run
// against. Output: a finding for each check, with what was observed, what is
// needed, and the command that mends it. The looking is probe's; what is made of
// it here is pure, and its limits are tables of tests.
package doctor
