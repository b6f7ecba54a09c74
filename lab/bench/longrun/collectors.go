package longrun

import (
	"fmt"
	"math/rand/v2"

	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/observe/wait"
)

// stream numbers the frames of one source.
type stream struct {
	source string
	sent   uint64
}

func (s *stream) frame(second int64, points []metric.Point) metric.Frame {
	s.sent++
	return metric.Frame{Source: s.source, Sequence: s.sent, Second: second, Points: points}
}

func (s *stream) close(second int64, totals ...metric.Point) []metric.Frame {
	sent := float64(s.sent)
	f := s.frame(second, append(totals, metric.CounterPoint(metric.Of(metric.WorkerFrames), sent)))
	f.Closing = true
	return []metric.Frame{f}
}

// collectors make the frames of all sources other than workers.
type collectors struct {
	database, host, service, receiver stream
	shape                             Shape
	random                            *rand.Rand
}

func newCollectors(s Shape) *collectors {
	return &collectors{
		database: stream{source: metric.SourceDatabase}, host: stream{source: metric.SourceHost},
		service: stream{source: metric.SourceService}, receiver: stream{source: metric.SourceReceiver},
		shape: s, random: rand.New(rand.NewPCG(2, 0)),
	}
}

func (c *collectors) second(second int64, tps float64) []metric.Frame {
	return []metric.Frame{
		c.database.frame(second, c.ofDatabase(tps)),
		c.host.frame(second, c.ofHost()),
		c.service.frame(second, c.ofService(tps)),
		c.receiver.frame(second, c.ofReceiver()),
	}
}

func (c *collectors) close(second int64) (all []metric.Frame) {
	for _, s := range []*stream{&c.database, &c.host, &c.service, &c.receiver} {
		all = append(all, s.close(second)...)
	}
	return all
}

const (
	statusCounters = 28 // status variables of MySQL that the collector reads
	statusGauges   = 6
	statements     = 12 // digests that the flow sends
)

// waits are the events of sampled sessions.
var waits = [][2]string{
	{"cpu", wait.CPU},
	{"io/file/sql/binlog", wait.Binlog},
	{"io/file/innodb/innodb_log_file", wait.Commit},
	{"io/table/sql/handler", wait.Engine},
	{"synch/mutex/innodb/trx_sys_mutex", "latch"},
	{"lock/table/sql/handler", "table lock"},
}

func (c *collectors) ofDatabase(tps float64) (points []metric.Point) {
	count := func(v float64, name string, labels ...string) {
		points = append(points, metric.CounterPoint(metric.Of(name, labels...), v))
	}
	for i := range statusCounters {
		count(tps*float64(i%5)+float64(c.random.IntN(100)), metric.DBCounter, "name", fmt.Sprintf("Status_counter_%d", i))
	}
	for i := range statusGauges {
		points = append(points, metric.GaugePoint(metric.Of(metric.DBGauge, "name", fmt.Sprintf("Status_gauge_%d", i)), float64(c.random.IntN(1000))))
	}
	count(metric.DefaultSampleRate, metric.DBSample)
	interval, took := &metric.Hist{}, &metric.Hist{}
	for range metric.DefaultSampleRate {
		interval.Record(95+10*c.random.Float64(), 1)
		took.Record(1+c.random.ExpFloat64(), 1)
	}
	points = append(points,
		metric.HistPoint(metric.Of(metric.DBSampleInterval), interval),
		metric.HistPoint(metric.Of(metric.DBSampleTime), took))
	for i := range statements {
		digest := fmt.Sprintf("%016x", i+1)
		text := fmt.Sprintf("INSERT INTO `table_%d` ( `id` , `run_id` , `amount` , `state` ) VALUES (...)", i)
		count(tps/4+float64(c.random.IntN(10)), metric.DBStatements, "digest", digest, "statement", text)
		count(tps/40*c.random.Float64(), metric.DBStatementTime, "digest", digest, "statement", text)
		for _, w := range waits {
			// In each second a statement is sampled in some of the events.
			if n := c.random.IntN(6) - 3; n > 0 {
				count(float64(n), metric.DBSession, "event", w[0], "class", w[1], "digest", digest)
			}
		}
	}
	return points
}

func (c *collectors) ofHost() (points []metric.Point) {
	count := func(v float64, name string, labels ...string) {
		points = append(points, metric.CounterPoint(metric.Of(name, labels...), v))
	}
	gauge := func(v float64, name string, labels ...string) {
		points = append(points, metric.GaugePoint(metric.Of(name, labels...), v))
	}
	for _, mode := range []string{"user", "system", "idle", "iowait", "irq", "nice", "softirq", "steal"} {
		count(2*c.random.Float64(), metric.HostCPU, "mode", mode)
	}
	gauge(16, metric.HostCPUs)
	gauge(4e10, metric.HostMemoryAvailable)
	count(float64(c.random.IntN(1e6)), metric.HostDiskWritten, "device", "vda")
	count(float64(c.random.IntN(1e6)), metric.HostDiskRead, "device", "vda")
	count(100*c.random.Float64(), metric.HostDiskBusy, "device", "vda")
	for _, i := range []string{"loopback", "external"} {
		count(float64(c.random.IntN(1e8)), metric.HostNetReceived, "interface", i)
		count(float64(c.random.IntN(1e8)), metric.HostNetSent, "interface", i)
	}
	for i := range c.shape.Workers {
		if c.shape.Remote {
			break
		}
		count(0.6, metric.ProcessCPU, "process", metric.WorkerSource(i))
		gauge(3e8, metric.ProcessMemory, "process", metric.WorkerSource(i))
	}
	return points
}

func (c *collectors) ofService(tps float64) []metric.Point {
	return []metric.Point{
		metric.GaugePoint(metric.Of(metric.ServicePoolInUse), float64(c.random.IntN(64))),
		metric.GaugePoint(metric.Of(metric.ServicePoolOpen), 64),
		metric.GaugePoint(metric.Of(metric.ServicePoolMax), 64),
		metric.CounterPoint(metric.Of(metric.ServicePoolWaits), float64(c.random.IntN(100))),
		metric.CounterPoint(metric.Of(metric.ServicePoolWaitTime), 50*c.random.Float64()),
		metric.CounterPoint(metric.Of(metric.ServiceQueries), 4*tps),
		metric.CounterPoint(metric.Of(metric.ServiceQueryTime), 12*tps*(1+c.random.Float64()/10)),
	}
}

// ofReceiver are the delays of the workers' reports.
func (c *collectors) ofReceiver() (points []metric.Point) {
	for i := range c.shape.Workers {
		points = append(points, metric.GaugePoint(metric.Of(metric.ReceiveDelay, "worker", metric.WorkerSource(i)), 150+100*c.random.Float64()))
	}
	return points
}
