// Package firewall cuts a server of this machine off from everything that talks to it,
// while its process runs on.
//
// Input: a process, the loopback ports on which it listens, and the group id under which
// it runs. Output: a table of nftables that drops every IPv4 packet between the process
// and others, until Join removes it or the machine restarts.
//
// What is dropped, in the output hook, which all packets between local processes pass:
//   - packets to the server's ports, by which new connections are refused;
//   - both directions of the connections that the process had when it was cut off;
//   - packets of any other socket of the process, which has a group id of its own: the
//     connections that it tries to open meanwhile.
//
// A connection of the process to itself is left alone. No connection is closed: both
// sides find packets unanswered, as with a broken network.
package firewall
