// Package keys measures how unevenly the keys of an endpoint are requested, in bounded
// memory: how many there are, the share of the most requested ones, and the Zipf
// distribution that fits.
//
// Input: hashes of keys, as requests have them. Output: a Skew. No key can be recovered from
// it.
package keys
