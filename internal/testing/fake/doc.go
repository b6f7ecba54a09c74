// Package fake has the clients of a cluster in memory, which keeps objects as they are,
// without any controller.
//
// Input: the objects of the cluster. Output: its clients.
package fake
