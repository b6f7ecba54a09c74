// Package sql is what k6 scripts reach databases with: the drivers of k6/x/sql, and the
// module k6/x/assay/sql, which has what k6/x/sql lacks. There, statements go through a
// pool: one of a transaction whose connection was lost is sent on a new connection, and
// is committed alone; an error after a result's first row is not seen; and errors are
// text.
//
// Input: the statements of scripts. Output: rows, errors with the server's code and a
// class in plain words, and the metrics sql_connecting, sql_duration, sql_failed and
// sql_errors, which the output of package k6 also counts as errors_by_class.
package sql
