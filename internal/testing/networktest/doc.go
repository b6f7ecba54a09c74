// Package networktest makes networks of several hosts on one machine, for tests: each
// host is a network namespace of its own, joined to the others by a pair of virtual
// Ethernet devices, or by a link that delays and loses packets. Links can be cut and
// restored. No network is connected to the machine's own one.
//
// Input: hosts and their links. Output: commands, listeners and connections on these
// hosts. Linux only; needs root and /dev/net/tun.
//
// The namespaces have no names: the kernel removes each, with its devices, as soon as
// neither this process nor one in the namespace holds it, so nothing is left of a test
// that is killed. While a test runs, `nsenter --net=/proc/PID/fd/FD` enters a host;
// `ls -l /proc/PID/fd` lists them.
package networktest
