// Package host collects from the Linux machine that it runs on: CPU, memory, disks,
// network, pressure and throttling, and CPU and memory of given processes.
//
// Input: /proc and /sys, and process ids by name. Output: one frame per second with the
// metrics host_*, process_* and cgroup_* of the metric catalogue, and a description of the
// machine.
package host
