// SPDX-License-Identifier: Apache-2.0

// Package verdict judges a run: whether it may be judged at all (the validity
// rules) and whether the system under test held its SLOs in the judged windows.
//
// Input: a record.Run. Output: a Verdict, the same for the same record however
// often and wherever it is computed: the package reads no clock, file, network
// or random source.
//
// The files are named by what they answer:
//
//   - evidence*.go: what the record shows in some of its seconds. Nothing is decided there.
//   - slo*.go: whether an SLO holds; a file for each kind. A new kind is an entry in judges.
//   - rule*.go: whether the run may be judged. A new rule is an entry in the table of package
//     rulebook, and a function that is registered in checks.
//   - claim*.go: what is concluded: the sentence, its basis, its limitations.
//   - shown*.go: what else the certificate shows.
package verdict
