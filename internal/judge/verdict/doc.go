// SPDX-License-Identifier: Apache-2.0

// Package verdict judges a run: whether it may be judged at all (the validity
// rules) and whether the system under test held its SLOs in the judged windows.
//
// Input: a record.Run. Output: a Verdict, the same for the same record however
// often and wherever it is computed: the package reads no clock, file, network
// or random source.
package verdict
