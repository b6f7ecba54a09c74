// Package plain sets what people read of a judgement: lines of a terminal, and
// numbers.
//
// Input: texts, whose names come from scripts, services and databases, and
// numbers that may be missing. Output: texts in which nothing steers a terminal,
// and lines of at most Columns characters that are read the same without colour.
package plain
