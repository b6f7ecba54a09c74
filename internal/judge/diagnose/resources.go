// SPDX-License-Identifier: Apache-2.0

package diagnose

import (
	"assay.dev/assay/certificate"
	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/observe/record"
)

// costSource is a resource and the series that measure it, of which the first that the
// record has is used.
type costSource struct {
	name, unit string
	scale      float64
	series     []metric.Series
}

func databaseCounter(name string) metric.Series {
	return metric.NewSeries(metric.DBCounter, "", "name", name)
}

var costs = []costSource{
	// MySQL and PostgreSQL also count read-only transactions.
	{metric.CostCommits, "1/tx", 1, []metric.Series{databaseCounter("events_transactions"), databaseCounter("Binlog_commits"), databaseCounter("xact_commit")}},
	{metric.CostFsyncs, "1/tx", 1, []metric.Series{databaseCounter("Innodb_data_fsyncs"), databaseCounter("wal_sync")}},
	{metric.CostRedo, "By/tx", 1, []metric.Series{databaseCounter("Innodb_os_log_written"), databaseCounter("wal_bytes")}},
	{metric.CostDisk, "By/tx", 1, []metric.Series{metric.NewSeries(metric.HostDiskWritten, "")}},
	{metric.CostDatabaseCPU, "ms/tx", 1000, []metric.Series{metric.NewSeries(metric.ProcessCPU, "", "process", metric.SourceDatabase)}},
	{metric.CostServiceCPU, "ms/tx", 1000, []metric.Series{
		metric.NewSeries(metric.ProcessCPU, "", "process", metric.SourceService), metric.NewSeries(metric.ServiceCPU, ""),
	}},
}

// resources lists the costs that the record has series of.
func resources(r record.Run, hold []record.Span) (all []certificate.Resource) {
	base := baseline(r)
	n, before := transactions(r, hold), transactions(r, base)
	if n == 0 {
		return nil
	}
	for _, c := range costs {
		for _, s := range c.series {
			if !measured(r, s) {
				continue
			}
			spent := func(spans []record.Span) float64 {
				return c.scale * sumOver(r.Timeline, s.Name, s.Labels, spans)
			}
			cost := certificate.Resource{Name: c.name, Unit: c.unit, PerTransaction: new(spent(hold) / n)}
			if before > 0 {
				cost.BaselinePerTransaction = new(spent(base) / before)
			}
			all = append(all, cost)
			break
		}
	}
	return all
}

func measured(r record.Run, s metric.Series) bool {
	for _, series := range r.Timeline.Series(s.Name) {
		if series.Matches(s.Labels) {
			return true
		}
	}
	return false
}
