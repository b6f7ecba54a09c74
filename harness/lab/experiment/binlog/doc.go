// Package binlog reads a database's binlog by several replication clients at
// once, as CDC connectors do (Debezium, and what feeds a data lake), and throws
// what it reads away.
//
// In: a DSN and a number of readers. Out: how much was read, and the CPU time
// that this process has used. It is run in a process of its own, so that its cost
// can be told from the generator's.
package binlog
