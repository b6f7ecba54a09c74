package sampling

import "assay.dev/assay/internal/observe/metric"

// Variables are the status variables of a server.
type Variables struct {
	Counters []string                 // only increase; the increases are sent
	Gauges   []string                 // increase and decrease
	Unit     func(name string) string // of a variable; empty: a count
}

// Status converts readings of variables to points.
type Status struct {
	last map[string]float64 // previous reading; nil: none
}

// Points converts a reading to points. restarted means that the server was restarted since
// the last reading, so that counters started at 0 again.
func (s *Status) Points(of Variables, now map[string]float64, restarted bool) (points []metric.Point) {
	for _, name := range of.Gauges {
		if v, ok := now[name]; ok {
			points = append(points, metric.GaugePoint(metric.NewSeries(metric.DBGauge, of.Unit(name), "name", name), v))
		}
	}
	for _, name := range of.Counters {
		v, ok := now[name]
		before, known := s.last[name]
		if !ok || !known || restarted {
			continue
		}
		// A counter that decreased was reset: its increase is unknown, but not negative.
		points = append(points, metric.CounterPoint(metric.NewSeries(metric.DBCounter, of.Unit(name), "name", name), max(0, v-before)))
	}
	s.last = now
	return points
}
