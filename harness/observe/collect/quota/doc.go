// Package quota measures for how long a CPU quota has throttled a process.
//
// Input: a process id, /proc, and the mounted cgroups of version 2, version 1, or
// both. Output: throttled seconds since the last reading, by the quotas of the
// process's cgroups.
package quota
