// Package exam examines the diagnosis: twelve runs on real servers, in each of
// which one fault was injected, or none, and which component it then names.
//
// Its tests are all there is of it. Input: the cases of cases_test.go, and a
// MySQL or MariaDB server each. Output: a sealed record for each case, in which
// the fault has broken an SLO or a rule of validity, what was named, and a table
// of that; -v shows the signals that the records hold, and -records DIR keeps
// them.
package exam
