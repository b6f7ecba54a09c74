// Package lag collects how far those are behind that read from the database:
// replicas, and readers of its binlog.
//
// Input: DSNs of replicas, and of the database that they follow; or a query, or a
// Prometheus metric, that tells a reader's lag. Output: one frame a second with
// the longest lag of that second (metric.ReplicaLag, metric.BinlogReaderLag);
// a second in which nothing could be read has no value. Nothing is written to
// any of them.
package lag
