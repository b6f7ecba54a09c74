// Package slowdisk gives one program a disk that takes its time, as network
// storage does: its flushes and reads of chosen files wait, one after the other,
// for so long each. Nothing else on the machine is slower, and nothing of the
// machine is changed.
//
// It works by seccomp's user notification (Linux 5.5): the program starts under
// a filter that asks this process before fsync, fdatasync and pread64, which
// answers late. Where this process is gone those calls fail: the program has to
// be tied to it.
//
// Input: a socket, a program and its arguments for [Exec], in a process that
// becomes the program; file names and delays for a [Disk]. Output: delayed
// calls, and how many there were.
package slowdisk
