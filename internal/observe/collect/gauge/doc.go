// Package gauge collects the gauges that SLOs judge: the lag of replicas, the lag of a
// reader of the database's binlog, the lag of a Kafka consumer group, and gauges that the
// profile or one of its abort conditions defines by a metric of the service, such as the depth
// of a queue; and the persist lag, which is shown while the run goes on.
//
// Input: a profile, DSNs of replicas and of their source, ASSAY_KAFKA, the URL of the
// service's metrics or a list of its instances. Output: one frame per second and source with
// the largest reading of that second; a second in which nothing could be read has no value.
// It writes to none of the systems that it reads. A further kind of gauge is a reader, and a
// line in kinds: the preflight and runs ask for all of them.
package gauge
