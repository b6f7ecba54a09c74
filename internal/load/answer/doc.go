// Package answer limits the memory that the target's answers take. k6 reads them without a
// limit, decoded: a few kB of gzip can expand to gigabytes.
//
// Input: a response before its body is read. Output: the same, whose body is decoded as k6
// would decode it, and fails beyond a limit.
package answer
