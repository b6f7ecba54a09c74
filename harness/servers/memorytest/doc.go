// Package memorytest makes folders in memory for the data of servers in tests.
//
// A server that flushes to a disk starts several times slower than one whose data
// are in memory. Tests of commit waits need the disk; all others do not.
//
// In: the machine's shared memory. Out: folders there, or on the disk where the
// machine has too little of it.
package memorytest
