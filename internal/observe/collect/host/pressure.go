package host

import (
	"time"

	"assay.dev/assay/internal/observe/metric"
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
