// Package verdict judges a run: whether it may be judged at all (the validity
// rules) and whether the system under test held its SLOs in the judged windows.
//
// Input: a record.Run. Output: a Verdict, the same for the same record however
// often and wherever it is computed: the package reads no clock, file, network
// or random source.
//
// This form decides by exact counts of violations. What a sample says about
// the system beyond the run (the binomial test with its design effect, and the
// rules steady, samples, per-class, start-skew and clock) is not judged yet:
// a further rule is a further entry of the table in rules.go, and the bounds of
// an SLO's observed value are nil until then.
package verdict
