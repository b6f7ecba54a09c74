// Package quotatest makes cgroups with a CPU quota, for tests.
//
// Input: root's rights, and a machine that lets it use the CPU controller.
// Output: a cgroup that processes can be put in.
package quotatest
