// Package health says over HTTP whether a database node can be used, for the health
// checks of a proxy: a node that has lost its group accepts connections and refuses
// queries, and one that is cut off does not answer.
//
// Input: nodes, and a port for each. Output: GET /writer is answered with 200 if the node
// executes writes, GET /reader if it executes reads, otherwise with 503 and the reason.
package health
