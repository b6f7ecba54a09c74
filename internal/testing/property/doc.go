// Package property says how many cases the property tests of judge draw: few in
// `make check`, many in `make long`.
//
// Input: the tests of a package. Output: their results with many cases.
package property
