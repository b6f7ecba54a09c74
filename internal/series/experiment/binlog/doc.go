// Package binlog reads the binlog of MySQL or MariaDB with several replication
// clients at once, as CDC connectors do (Debezium, feeds of a data lake), and
// discards what it reads.
//
// Input: a DSN and a number of readers. Output: how much was read, and the CPU time of
// this process. It runs in its own process, so that its cost is not part of the
// generator's.
package binlog
