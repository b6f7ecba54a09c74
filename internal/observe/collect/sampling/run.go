package sampling

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"assay.dev/assay/internal/mask"
	"assay.dev/assay/internal/observe/collect"
	"assay.dev/assay/internal/observe/metric"
)

const (
	// period is the time between samples. Samples are due half-way through each tenth of
	// a second and counters are read at the end of a second, so each has 50 ms before
	// it delays the other.
	period = time.Second / metric.DefaultSampleRate
	offset = period / 2

	// retry is the time between attempts to reconnect.
	retry = 300 * time.Millisecond
)

// Database is a server that is sampled over one connection, which may be lost.
// Its methods are called one at a time and return in bounded time by themselves. Their
// ctx is never done: cancelling an exchange would break the connection, which is still
// needed to restore the server.
type Database interface {
	// Connected reports whether there is a connection. A method that loses it closes it.
	Connected() bool
	// Connect opens a new connection and redoes the setup that a restart of the server
	// has undone. After an error there is no connection.
	Connect(ctx context.Context) error
	// Sample returns the active sessions at this moment.
	Sample(ctx context.Context) ([]Session, error)
	// Read returns gauges, and the increases of counters and statement totals since its
	// last call. With an error it also returns what it read before.
	Read(ctx context.Context) ([]metric.Point, error)
}

// run is the state of one Run.
type run struct {
	db      Database
	seconds collect.Seconds
	stream  *collect.Stream
	index   int64 // index of the second whose frame comes next
	current second

	began   time.Time
	last    time.Time // time of the last sample; zero: none yet
	lost    time.Time // when the connection was lost; zero: it is open
	attempt time.Time // not to reconnect before
	said    string    // the last warning
}

// Run samples until ctx is done. While the server cannot be reached, frames have no
// samples; the next sample records the length of the gap. The error reports a server
// that was unreachable at the end, and frames that could not be sent.
func Run(ctx context.Context, db Database, sink collect.Sink) error {
	now := time.Now()
	r := &run{db: db, seconds: collect.NewSeconds(now), stream: collect.NewStream(metric.SourceDatabase, sink), began: now}
	inner := context.WithoutCancel(ctx)
	r.read(inner) // the base of later increases
	r.current.points = nil
	next := r.tickAt(now)
	for {
		due, end := r.instant(next), r.seconds.Begin(r.index+1)
		if end.Before(due) {
			due = end
		}
		if !collect.Sleep(ctx.Done(), due) {
			break
		}
		if now := time.Now(); !now.Before(end) {
			r.endSecond(inner, now)
		} else if current := r.tickAt(now); current > next {
			next = current // skip the ticks missed during a long exchange
		} else {
			// Reconnecting may take long: determine the current second again before
			// adding a sample to it.
			if !r.reconnected(inner) {
				r.sample(inner)
			}
			next++
		}
	}
	return r.finish(inner)
}

// instant is when tick i is due.
func (r *run) instant(i int64) time.Time {
	return r.seconds.Begin(0).Add(time.Duration(i)*period + offset)
}

// tickAt is the tick to take at t. One that is less than half a period overdue is not
// missed yet.
func (r *run) tickAt(t time.Time) int64 {
	return int64(t.Sub(r.seconds.Begin(0)) / period)
}

func (r *run) sample(ctx context.Context) {
	if !r.db.Connected() {
		return
	}
	begin := time.Now()
	sessions, err := r.db.Sample(ctx)
	if err != nil {
		r.failed(err)
		return
	}
	if !r.last.IsZero() {
		r.current.interval.Record(ms(begin.Sub(r.last)), 1)
	}
	r.last = begin
	r.current.took.Record(ms(time.Since(begin)), 1)
	r.current.add(sessions)
}

// endSecond reads the counters and sends the frames of the seconds that have ended:
// several after a stall, the last of which has the increases.
func (r *run) endSecond(ctx context.Context, now time.Time) {
	ended := r.seconds.Index(now) - 1
	for ; r.index < ended; r.index++ {
		r.send()
	}
	r.read(ctx)
	r.send()
	r.index++
}

func (r *run) send() {
	r.stream.Send(r.seconds.Unix(r.index), r.current.take())
}

// read reads the counters if there is a connection. If not, the next reading covers
// this time too.
func (r *run) read(ctx context.Context) {
	if !r.db.Connected() {
		return
	}
	points, err := r.db.Read(ctx)
	r.current.points = append(r.current.points, points...)
	if err != nil {
		r.failed(err)
	}
}

// reconnected opens a new connection if the old one is lost, at most once per retry
// interval. It reports whether it tried.
func (r *run) reconnected(ctx context.Context) bool {
	if r.db.Connected() || time.Now().Before(r.attempt) {
		return false
	}
	if err := r.db.Connect(ctx); err != nil {
		r.failed(err)
		r.attempt = time.Now().Add(retry)
	} else if !r.lost.IsZero() {
		slog.Warn("database collector is connected again", "after", time.Since(r.lost).Round(time.Millisecond))
		r.lost = time.Time{}
	}
	return true
}

// failed warns that the connection is lost, once per outage, and of any other error unless
// the warning before was the same.
func (r *run) failed(err error) {
	switch {
	case !r.lost.IsZero():
		slog.Debug("database collector", "err", err)
		return
	case !r.db.Connected():
		r.lost = time.Now()
		slog.Warn("database collector lost its connection", "err", err)
	case err.Error() != r.said:
		slog.Warn("database collector", "err", err)
	}
	r.said = err.Error()
}

// finish sends what is left and closes the stream.
func (r *run) finish(ctx context.Context) error {
	if now := time.Now(); !now.Before(r.seconds.Begin(r.index + 1)) {
		r.endSecond(ctx, now)
	}
	r.read(ctx)
	now, from := time.Now(), r.last
	if from.IsZero() {
		from = r.began
	}
	if gap := now.Sub(from); gap > 2*period {
		r.current.interval.Record(ms(gap), 1) // a gap that lasted until the end
	}
	r.send()
	err := r.stream.Close(r.seconds.Unix(r.index))
	if err == nil && !r.lost.IsZero() {
		err = fmt.Errorf("collect from the database: not connected for the last %v", now.Sub(r.lost).Round(time.Second))
	}
	return err
}

// Session is one active session in one sample.
type Session struct {
	Event    string // the wait's name, or the session's state, or cpu
	Class    string
	Inferred bool   // from the session's state rather than a wait event
	Digest   string // digest of the session's statement, as Digests labels it; empty: not known
	Client   string // client that opened the session, as Clients labels it; empty: not known
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

// Variables are the status variables of a server.
type Variables struct {
	Counters []string                 // only increase; the increases are sent
	Gauges   []string                 // increase and decrease
	Unit     func(name string) string // unit of a variable; empty: a count
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

// Idle is a session that holds row locks in an open transaction but runs no statement.
var Idle = Session{Event: "idle", Class: "idle"}

// Blockers returns one point per activity of the sessions that hold row locks: the
// number of sessions that wait for them.
func Blockers(waiters map[Session]int) []metric.Point {
	var points []metric.Point
	for holder, n := range waiters {
		points = append(points, metric.CounterPoint(holder.Series(metric.DBBlocker), float64(n)))
	}
	return points
}
