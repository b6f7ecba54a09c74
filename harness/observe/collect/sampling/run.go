package sampling

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"assay/harness/observe/collect"
	"assay/harness/observe/metric"
)

const (
	// period is the time between samples. A sample is due in the middle of its tenth
	// of a second, the counters are read at the end of a second: each has 50 ms before
	// it can delay the other.
	period = time.Second / metric.DefaultSampleRate
	offset = period / 2

	// retry is the time between attempts to reconnect.
	retry = 300 * time.Millisecond
)

// Database is a server that is sampled over one connection, which may be lost.
// Its methods are called one at a time, and end in bounded time by themselves. Their
// ctx is never done: a connection that is cut off in the middle of an exchange could
// not be used for what is left to do.
type Database interface {
	// Connected tells whether there is a connection. A method that loses it drops
	// it.
	Connected() bool
	// Connect makes a new connection, and prepares again what a restart of the server
	// has undone. After an error there is none.
	Connect(ctx context.Context) error
	// Sample returns the active sessions at this moment.
	Sample(ctx context.Context) ([]Session, error)
	// Read returns gauges, and the increases of counters and statements since its last
	// call. With an error it returns what it had read until then.
	Read(ctx context.Context) ([]metric.Point, error)
}

// run is the state of one Run.
type run struct {
	db      Database
	seconds collect.Seconds
	stream  *collect.Stream
	index   int64 // of the second whose frame comes next
	current second

	began   time.Time
	last    time.Time // of the last sample; zero: none yet
	lost    time.Time // when the connection was lost; zero: it is open
	attempt time.Time // not to reconnect before
}

// Run samples until ctx is done. A server that cannot be reached leaves a gap:
// its seconds have frames with no samples, and the sample that ends the gap
// tells how long it was. Its error tells of a server that was gone at the end,
// and of frames that could not be sent.
func Run(ctx context.Context, db Database, sink collect.Sink) error {
	now := time.Now()
	r := &run{db: db, seconds: collect.NewSeconds(now), stream: collect.NewStream(collect.Database, sink), began: now}
	inner := context.WithoutCancel(ctx)
	r.read(inner) // what later increases are counted from
	r.current.points = nil
	next := r.tickAt(now)
	for {
		tick, end := r.instant(next), r.seconds.Begin(r.index+1)
		if !collect.Sleep(ctx.Done(), earlier(tick, end)) {
			break
		}
		if now := time.Now(); !now.Before(end) {
			r.endSecond(inner, now)
		} else if current := r.tickAt(now); current > next {
			next = current // a long exchange has passed over the ticks before
		} else {
			// Reconnecting may take long: the second is determined again before a
			// sample is added to it.
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

// tickAt is the tick to take at t: one that has been due for less than half a
// period counts as not missed.
func (r *run) tickAt(t time.Time) int64 {
	return int64(t.Sub(r.seconds.Begin(0)) / period)
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// sample takes one sample, if there is a connection.
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

// endSecond reads the counters and sends the frames of the seconds that have
// ended: several after a stall, of which the last has the increases.
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

// read reads the counters, when there is a connection; else the next reading
// covers the time until then.
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

// reconnected makes a new connection if the old one is gone, at most every so
// often. It reports whether it had to try.
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

// failed reports a connection that was lost, once.
func (r *run) failed(err error) {
	if !r.db.Connected() && r.lost.IsZero() {
		r.lost = time.Now()
		slog.Warn("database collector lost its connection", "err", err)
		return
	}
	slog.Debug("database collector", "err", err)
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
		r.current.interval.Record(ms(gap), 1) // a gap that no sample ended
	}
	r.send()
	err := r.stream.Close(r.seconds.Unix(r.index))
	if err == nil && !r.lost.IsZero() {
		err = fmt.Errorf("collect from the database: not connected for the last %v", now.Sub(r.lost).Round(time.Second))
	}
	return err
}
