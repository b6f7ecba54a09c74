// Package host collects from the Linux machine that it runs on: CPU, memory,
// disks, network, what others take from it, and CPU and memory of the processes
// it is told to watch.
//
// Input: /proc and /sys, and process ids by name. Output: one frame a second
// with the metrics that start with host_, process_ and cgroup_ in metric's catalogue,
// and Describe, what the machine is.
package host
