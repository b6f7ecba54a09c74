// Package quota measures for how long a CPU quota has throttled a process.
//
// Input: a process id, /proc, and the mounted cgroup hierarchies, version 1, 2 or both.
// Output: seconds since the last reading in which the quotas of its cgroups throttled the
// process.
package quota
