// Package quota tells for how long a CPU quota has stopped a process.
//
// Input: a process id, /proc, and the cgroups of version 2, of version 1, or of
// both, as far as they are mounted here. Output: seconds since the reading
// before, of those of the process's cgroups that have a quota.
package quota
