package sampling

import (
	"time"

	"assay.dev/assay/internal/mask"
	"assay.dev/assay/internal/observe/metric"
)

// Session is one active session in one sample.
type Session struct {
	Event    string // the wait's name, or the session's state, or cpu
	Class    string
	Inferred bool   // from the session's state rather than a wait event
	Digest   string // of its statement, as Digests labels it; empty: not known
	Client   string // that opened it, as Clients labels it; empty: not known
}

// Series returns the series of a metric with the session's activity as labels.
func (s Session) Series(name string) metric.Series {
	inferred := ""
	if s.Inferred {
		inferred = "true"
	}
	return metric.Of(name, "event", s.Event, "class", s.Class, "inferred", inferred, "client", s.Client, "digest", s.Digest)
}

// second accumulates the frame of one second.
type second struct {
	samples  int
	sessions map[Session]int
	interval metric.Hist // ms between samples
	took     metric.Hist // ms that a sample took
	points   []metric.Point
}

// add counts the sessions of one sample.
func (s *second) add(sessions []Session) {
	s.samples++
	if s.sessions == nil {
		s.sessions = map[Session]int{}
	}
	for _, one := range sessions {
		s.sessions[one]++
	}
}

// take returns the points and resets the second. Without samples the count is 0.
func (s *second) take() []metric.Point {
	full := *s
	*s = second{}
	return full.all()
}

func (s *second) all() []metric.Point {
	points := append(s.points, metric.CounterPoint(metric.Of(metric.DBSample), float64(s.samples)))
	if s.interval.Count() > 0 {
		points = append(points, metric.HistPoint(metric.Of(metric.DBSampleInterval), &s.interval))
	}
	if s.took.Count() > 0 {
		points = append(points, metric.HistPoint(metric.Of(metric.DBSampleTime), &s.took))
	}
	for one, n := range s.sessions {
		points = append(points, metric.CounterPoint(one.Series(metric.DBSession), float64(n)))
	}
	return points
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// maxText is how much of a statement's text becomes a label.
const maxText = 120

// Shorten makes a label of a statement's text: one line without secrets, which may be
// truncated.
func Shorten(text string) string { return mask.Line(text, maxText) }
