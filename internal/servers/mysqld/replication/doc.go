// Package replication makes several MySQL or MariaDB servers replicate each other: by the
// binlog from a writer to a reader, or as writers of one group (MariaDB's Galera, MySQL's
// Group Replication).
//
// Input: the nodes and their ports. Output: the options and statements by which a server
// becomes such a node, and the state of a node as the server itself reports it. Which
// node is started when is decided elsewhere.
package replication
