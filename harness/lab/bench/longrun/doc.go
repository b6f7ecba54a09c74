// Package longrun makes the record that a long run of a big fleet leaves: every
// series that workers and collectors send, second by second, filled with
// latencies drawn from a seed. Judging such a record shows what judging costs.
//
// Input: a Shape. Output: a sealed run folder.
package longrun
