// Package memorytest makes folders in memory for the data of servers in tests, and copies
// data that was initialised once.
//
// A server that flushes to disk starts several times slower than one with its data in
// memory. Only tests of commit waits need the disk.
//
// Input: the machine's shared memory. Output: folders there, or on disk if too little
// memory is free.
package memorytest
