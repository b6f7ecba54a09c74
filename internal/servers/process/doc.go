// Package process starts, awaits and stops child processes: servers, workers, and
// those of tests.
//
// Input: a command, and how its life is tied to this process. Output: a Child and its
// Identity, by which another process can find it later, even if its pid has been
// reused since. Linux only: it reads /proc and uses the parent-death signal.
package process
