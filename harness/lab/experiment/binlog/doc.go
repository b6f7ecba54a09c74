// Package binlog reads the binlog of MySQL or MariaDB with several replication
// clients at once, as CDC connectors do (Debezium, feeds of a data lake), and
// discards what it reads.
//
// Input: a DSN and a number of readers. Output: how much was read, and the CPU time
// that this process has used. It runs in a process of its own, so that its cost is
// not part of the generator's.
package binlog
