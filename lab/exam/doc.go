// Package exam tests the diagnosis: it makes seventeen runs on real servers, each with
// one injected fault or none, and compares the bottleneck that the diagnosis names
// with the fault (docs/exam.md).
//
// It consists of tests only. Input: the cases of cases_test.go, and a MySQL or MariaDB
// server. Output: a sealed record of each case, in which the fault has broken an SLO or
// a validity rule, and a table of the named bottlenecks. -v also prints the signals in
// the records, and -update keeps the records in testdata/records.
package exam
