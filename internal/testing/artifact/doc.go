// Package artifact keeps what failed tests leave, such as records of runs.
//
// Input: folders of a test. Output: copies of them in the test's artifact folder, which
// `go test -artifacts` keeps; `make test` does so below .cache/failed.
package artifact
