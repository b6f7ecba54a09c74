package host

import (
	"time"

	"assay/harness/observe/metric"
)

// pressure reports pressure stall information, if the kernel records it
// (Documentation/accounting/psi.rst). For the whole machine "full" is undefined for the
// CPU; the kernel shows 0.
func (c *Collector) pressure(p *points) {
	for _, resource := range []string{"cpu", "io", "memory"} {
		stats, err := c.proc.PSIStatsForResource(resource)
		if err != nil {
			continue
		}
		if stats.Some != nil {
			p.counter(metric.HostPressure, seconds(stats.Some.Total), "resource", resource, "kind", "some")
		}
		if stats.Full != nil && resource != "cpu" {
			p.counter(metric.HostPressure, seconds(stats.Full.Total), "resource", resource, "kind", "full")
		}
	}
}

func seconds(micros uint64) float64 { return (time.Duration(micros) * time.Microsecond).Seconds() }

// throttled reports for how long a quota has throttled the process. Workers, which may
// run on other hosts, report that themselves.
func (w *process) throttled(p *points, name string) {
	if name != metric.SourceService && name != metric.SourceDatabase {
		return
	}
	if s, ok := w.quota.Read(); ok {
		p.all = append(p.all, metric.CounterPoint(metric.Of(metric.CgroupThrottled, "process", name), s))
	}
}
