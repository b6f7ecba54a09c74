// Package haproxy runs HAProxy before the nodes of a database, on the loopback address.
//
// Input: listeners, their servers, and the port at which an HTTP endpoint says whether a
// server can be used: an open port does not, since a node that has lost its group accepts
// connections and refuses queries. Output: its configuration and its command.
package haproxy
