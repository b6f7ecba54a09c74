// Package quotatest creates cgroups with a CPU quota, for tests.
//
// Input: root privileges, and a machine that allows the use of the CPU controller.
// Output: a cgroup to which processes can be moved.
package quotatest
