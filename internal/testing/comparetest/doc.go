// Package comparetest makes groups of synthetic runs for the tests of comparisons.
//
// Input: the order of the runs of A and B, and how much slower B is. Output: groups to
// compare, or sealed records of the runs.
package comparetest
