// Package gauge collects the gauges that SLOs judge: how far replicas and readers
// of the database's binlog are behind, and gauges of the service whose metric the
// profile names, as the depth of a queue.
//
// Input: a profile, DSNs of replicas and of the database that they follow, the URL
// of the service's metrics. Output: one frame a second and source with the largest
// reading of that second; a second in which nothing could be read has no value.
// Nothing is written to any of them.
package gauge
