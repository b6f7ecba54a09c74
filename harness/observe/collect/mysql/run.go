package mysql

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"assay/harness/observe/collect"
)

const (
	// period is the time between samples. They stand in the middle of their
	// tenths of a second, and the status is read where a second ends: each has
	// 50 ms before it can delay the other.
	period = 100 * time.Millisecond
	offset = period / 2

	// retry is the time between attempts to reconnect, each of which takes dial
	// at most.
	retry = 300 * time.Millisecond

	// lookEvery is the number of seconds between looks for other runs, none of
	// which is shorter than some 10 s.
	lookEvery = 5
)

// run is the state of one Run.
type run struct {
	c          *Collector
	seconds    collect.Seconds
	stream     *collect.Stream
	second     int64 // the one whose frame comes next
	gathered   gathered
	status     status
	statements statements
	labels     digests

	began   time.Time
	last    time.Time // of the last sample; zero: none yet
	lost    time.Time // when the connection was lost; zero: it stands
	attempt time.Time // not to reconnect before
}

// Run samples until ctx is done. A server that cannot be reached leaves a gap:
// its seconds have frames with no samples, and the sample that ends the gap
// tells how long it was. Its error tells of a server that was gone at the end,
// and of frames that could not be sent.
func (c *Collector) Run(ctx context.Context, sink collect.Sink) error {
	now := time.Now()
	r := &run{
		c: c, seconds: collect.NewSeconds(now), stream: collect.NewStream(c.Source(), sink),
		statements: statements{names: map[string]statementName{}}, labels: digests{}, began: now,
	}
	// Statements of ours end in bounded time by themselves. Cut off in the
	// middle, the connection would be of no use for what is left to do.
	inner := context.WithoutCancel(ctx)
	r.readStatus(inner) // what later increases are counted from
	r.gathered.points = nil
	next := r.tickAt(now)
	for {
		tick, end := r.instant(next), r.seconds.Begin(r.second+1)
		if !collect.Sleep(ctx.Done(), earlier(tick, end)) {
			break
		}
		if now := time.Now(); !now.Before(end) {
			r.endSecond(inner, now)
		} else if current := r.tickAt(now); current > next {
			next = current // the ticks before passed during something long
		} else {
			// Reconnecting may take long: what second it is is asked again
			// before there is a sample to be put to it.
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
	r.c.mu.Lock()
	defer r.c.mu.Unlock()
	if r.c.link.conn == nil {
		return
	}
	begin := time.Now()
	sessions, err := r.c.sampler.take(ctx, r.c.link)
	if err != nil {
		r.failed("sample sessions", err)
		return
	}
	if !r.last.IsZero() {
		r.gathered.interval.Record(ms(begin.Sub(r.last)), 1)
	}
	r.last = begin
	r.gathered.took.Record(ms(time.Since(begin)), 1)
	r.gathered.add(sessions, r.labels)
}

// endSecond reads the counters and sends the frames of the seconds that have
// ended. After a standstill there are several; the increases belong to the last.
func (r *run) endSecond(ctx context.Context, now time.Time) {
	ended := r.seconds.Index(now) - 1
	for ; r.second < ended; r.second++ {
		r.send()
	}
	r.readStatus(ctx)
	r.send()
	if r.second%lookEvery == 0 {
		r.lookAround(ctx)
	}
	r.second++
}

// lookAround notes the runs that come and go meanwhile.
func (r *run) lookAround(ctx context.Context) {
	r.c.mu.Lock()
	defer r.c.mu.Unlock()
	if r.c.link.conn != nil {
		r.c.promised(ctx)
	}
}

func (r *run) send() {
	r.stream.Send(r.seconds.Unix(r.second), r.gathered.take())
}

// readStatus reads the counters, when there is a connection; else the next
// reading covers the time until then.
func (r *run) readStatus(ctx context.Context) {
	r.c.mu.Lock()
	defer r.c.mu.Unlock()
	if r.c.link.conn == nil {
		return
	}
	values, err := r.c.readStatus(ctx)
	if err != nil {
		r.failed("read status", err)
		return
	}
	points, restarted := r.status.points(values)
	r.gathered.points = append(r.gathered.points, points...)
	if restarted {
		r.statements.restart()
	}
	changed, err := r.c.readStatements(ctx, &r.statements)
	if err != nil {
		r.failed("read statement times", err)
		return
	}
	points, err = r.c.statementPoints(ctx, &r.statements, changed, r.labels)
	r.gathered.points = append(r.gathered.points, points...)
	if err != nil {
		r.failed("read statement texts", err)
	}
}

// reconnected makes a new connection if the old one is gone, at most every so
// often, and switches on again what a restart of the server has switched off.
// It reports whether it had to try.
func (r *run) reconnected(ctx context.Context) bool {
	r.c.mu.Lock()
	defer r.c.mu.Unlock()
	if r.c.link.conn != nil || time.Now().Before(r.attempt) {
		return false
	}
	err := r.c.connect(ctx)
	if err == nil {
		err = r.c.instrument(ctx)
	}
	if err != nil {
		r.c.link.drop()
		r.failed("reconnect", err)
		r.attempt = time.Now().Add(retry)
	} else if !r.lost.IsZero() {
		slog.Warn("database collector is connected again", "after", time.Since(r.lost).Round(time.Millisecond))
		r.lost = time.Time{}
	}
	return true
}

// failed reports a connection that was lost, once.
func (r *run) failed(what string, err error) {
	if r.c.link.conn == nil && r.lost.IsZero() {
		r.lost = time.Now()
		slog.Warn("database collector lost its connection", "at", what, "err", err)
		return
	}
	slog.Debug("database collector", "at", what, "err", err)
}

// finish sends what is left and closes the stream.
func (r *run) finish(ctx context.Context) error {
	if now := time.Now(); !now.Before(r.seconds.Begin(r.second + 1)) {
		r.endSecond(ctx, now)
	}
	r.readStatus(ctx)
	now, from := time.Now(), r.last
	if from.IsZero() {
		from = r.began
	}
	if gap := now.Sub(from); gap > 2*period {
		r.gathered.interval.Record(ms(gap), 1) // a gap that no sample ended
	}
	r.send()
	err := r.stream.Close(r.seconds.Unix(r.second))
	if err == nil && !r.lost.IsZero() {
		err = fmt.Errorf("collect from the database: not connected for the last %v", now.Sub(r.lost).Round(time.Second))
	}
	return err
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
