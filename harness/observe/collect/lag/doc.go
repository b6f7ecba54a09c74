// Package lag collects how far readers of the database are behind: replicas, and
// readers of the binlog.
//
// Input: DSNs of replicas, and of the database that they follow; or a query, or a
// Prometheus metric, that tells the lag of a reader. Output: one frame a second with
// the longest lag of that second (metric.ReplicaLag, metric.BinlogReaderLag); a
// second in which nothing could be read has no value. Nothing is written anywhere.
package lag
