// Package logfile reads access logs: files, compressed by gzip or not, and standard input.
//
// Input: names of files. Output: a tally of their requests, and what was read of each. Blocks
// of lines are parsed on all processors; requests are counted in the order of the lines, so
// that the same files always give the same tally. Memory does not grow with the files.
package logfile
