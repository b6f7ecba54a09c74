// Package modeltest writes access logs of known traffic, for tests and measurements.
//
// Input: flows, their rates and keys, and a seed. Output: lines in any of the formats, and
// what is in them.
package modeltest
