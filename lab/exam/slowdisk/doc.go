// Package slowdisk gives one program a slow disk, like network storage: each flush and
// read of chosen files takes a fixed delay, one call at a time. Other programs are not
// affected, and the machine's configuration is not changed.
//
// It uses seccomp's user notification: the program runs under a filter by which fsync,
// fdatasync and pread64 wait for this process to let them continue, and only a signal
// that ends the program interrupts them (Linux 5.19). If this process ends, those calls
// fail, so that the program has to be tied to it.
//
// Input: a socket, a program and its arguments for [Exec], in a process that becomes
// the program; file names and delays for a [Disk]. Output: delayed calls, and their
// number.
package slowdisk
