// Package doctor is the preflight: what this machine, the target and the
// database lack for what is to be run.
//
// Input: a Subject, the profiles with their plans and what they are run
// against. Output: a finding for each check, with what was observed, what is
// needed, and the command that remedies it. Package probe reads the state of the
// outside; the judgement here is pure, and tests hold its limits in tables.
package doctor
