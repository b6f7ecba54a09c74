// Package gauge collects the gauges that SLOs judge: how far those are behind that
// read from the database, replicas and readers of its binlog.
//
// Input: a profile, DSNs of replicas and of the database that they follow. A gauge
// is told by SQL, or by a metric in Prometheus' text format. Output: one frame a
// second and source with the largest reading of that second; a second in which
// nothing could be read has no value. Nothing is written to any of them.
package gauge
