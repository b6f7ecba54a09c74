package target

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
	"golang.org/x/time/rate"
)

const (
	// maxLines bounds the lines that wait to be written, less than 300 bytes each.
	maxLines = 10_000
	// maxTraceparent bounds what is kept of the header; version 00 has 55 bytes.
	maxTraceparent = 128
)

// requestLog writes one line for each request of the load, with the trace id that its sender
// gave it. No request waits for it: lines that cannot be written fast enough are left out,
// and the next one says how many. It is safe for concurrent use.
type requestLog struct {
	to      slog.Handler
	lines   chan requestLine
	dropped atomic.Int64
	quit    chan struct{}
	done    sync.WaitGroup
}

// requestLine is what is known of a request.
type requestLine struct {
	end         time.Time
	pattern     string // "POST /payments"
	code        int
	took        time.Duration
	traceparent string // traceparent of the sender; empty: it sent none, several or an overlong one
}

func startRequestLog(to slog.Handler) *requestLog {
	l := &requestLog{to: to, lines: make(chan requestLine, maxLines), quit: make(chan struct{})}
	l.done.Go(l.write)
	return l
}

// stop writes the lines that wait. Those of requests that end later are lost.
func (l *requestLog) stop() {
	close(l.quit)
	l.done.Wait()
}

func (l *requestLog) write() {
	write := func(line requestLine) { _ = l.to.Handle(context.Background(), l.record(line)) } // as slog.Logger does
	for {
		select {
		case line := <-l.lines:
			write(line)
		case <-l.quit:
			for len(l.lines) > 0 {
				write(<-l.lines)
			}
			return
		}
	}
}

// add logs a request that has ended now.
func (l *requestLog) add(r *http.Request, code int, took time.Duration) {
	select {
	case l.lines <- requestLine{time.Now(), r.Pattern, code, took, single(r.Header.Values("traceparent"))}:
	default:
		l.dropped.Add(1)
	}
}

func (l *requestLog) record(line requestLine) slog.Record {
	record := slog.NewRecord(line.end, slog.LevelInfo, "request", 0)
	method, path, _ := strings.Cut(line.pattern, " ")
	record.AddAttrs(
		slog.String("method", method), slog.String("path", strings.TrimSuffix(path, "{$}")),
		slog.Int("status", line.code), slog.Float64("duration_ms", float64(line.took.Microseconds())/1000),
	)
	if id := traceID(line.traceparent); id != "" {
		record.AddAttrs(slog.String("trace_id", id))
	}
	if n := l.dropped.Swap(0); n > 0 {
		record.AddAttrs(slog.Int64("dropped_lines", n))
	}
	return record
}

// single is the only value of a header; empty: it has none, several or an overlong one.
func single(values []string) string {
	if len(values) != 1 || len(values[0]) > maxTraceparent {
		return ""
	}
	return values[0]
}

// traceID is the trace id of a traceparent (W3C Trace Context); empty: it is none.
func traceID(traceparent string) string {
	ctx := propagation.TraceContext{}.Extract(context.Background(), propagation.MapCarrier{"traceparent": traceparent})
	if of := trace.SpanContextFromContext(ctx); of.IsValid() {
		return of.TraceID().String()
	}
	return ""
}

// limitedLog limits the rate of log lines, for example while the database is down: ten at
// once, then one per second, each with the number of lines dropped before it.
type limitedLog struct {
	log     *slog.Logger
	limit   *rate.Limiter
	dropped atomic.Int64
}

func newLimitedLog(log *slog.Logger) *limitedLog {
	return &limitedLog{log: log, limit: rate.NewLimiter(rate.Every(time.Second), 10)}
}

func (l *limitedLog) error(msg string, err error, args ...any) {
	if !l.limit.Allow() {
		l.dropped.Add(1)
		return
	}
	l.log.Error(msg, append(args, "error", err, "dropped_lines", l.dropped.Swap(0))...)
}

// Print makes it the driver's logger, which writes to stderr without limit by default.
func (l *limitedLog) Print(v ...any) {
	l.error("database driver", fmt.Errorf("%s", fmt.Sprint(v...)))
}

// retry logs that events could not be stored, and tries again, after ever longer pauses, until
// they are; false: ctx ended before.
func (l *limitedLog) retry(ctx context.Context, err error, events int, store func() error) bool {
	for pause := 10 * time.Millisecond; err != nil; pause = min(2*pause, time.Second) {
		if ctx.Err() != nil {
			return false
		}
		l.error("store events", err, "events", events)
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return false
		}
		err = store()
	}
	return true
}
