// Package doctor is the preflight: it finds what this machine, the target and the
// database lack for a run.
//
// Input: a Subject, that is the profiles with their plans, and the systems to run them
// against. Output: a finding for each check, with what was observed, what is needed, and
// the command that remedies it. Functions whose names begin with examine read the
// state of machine and systems; judging it is pure, and tested in tables.
package doctor
