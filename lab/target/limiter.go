package target

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"sync"
	"time"
)

// errBusy: a request waited for a slot until its time-out.
var errBusy = errors.New("no free worker")

// limiter lets requests wait for the service's capacity. It is safe for concurrent use.
type limiter struct {
	log     *slog.Logger
	waited  func(time.Duration) // is told how long each request waited
	mu      sync.Mutex
	slots   *slots
	changes *time.Timer // fires when the capacity changes
	stopped bool
}

func newLimiter(of Capacity, log *slog.Logger, waited func(time.Duration)) *limiter {
	l := &limiter{log: log, waited: waited, slots: newSlots(of)}
	l.changes = time.AfterFunc(time.Hour, func() { l.do(func(time.Time) {}) })
	l.changes.Stop()
	return l
}

// stop ends the autoscaler. It must be called after the last request.
func (l *limiter) stop() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stopped = true
	l.changes.Stop()
}

// do changes the state.
func (l *limiter) do(change func(now time.Time)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	serving, ready := l.slots.serving, l.slots.ready
	now := time.Now()
	l.slots.advance(now)
	change(now)
	if l.slots.serving != serving {
		l.log.Info("capacity changed", "requests", l.slots.serving, "before", serving)
	}
	if at := l.slots.ready; !at.IsZero() && at != ready {
		l.log.Info("instance ordered", "requests", l.slots.serving, "ready_in", at.Sub(now))
	}
	if at := l.slots.next(); !at.IsZero() && !l.stopped {
		l.changes.Reset(at.Sub(now))
	}
}

// state is the capacity, and how many requests wait for it.
func (l *limiter) state() (capacity, waiting int) {
	l.do(func(time.Time) { capacity, waiting = l.slots.serving, len(l.slots.waiting) })
	return capacity, waiting
}

// acquire waits for a slot, which release gives back, until ctx is done.
func (l *limiter) acquire(ctx context.Context) (release func(), err error) {
	var w *waiter
	begin := time.Now()
	l.do(func(now time.Time) { w = l.slots.enter(now) })
	release = func() { l.do(l.slots.leave) }
	defer func() { l.waited(time.Since(begin)) }()
	select {
	case <-w.got:
	case <-ctx.Done():
	}
	if ctx.Err() == nil {
		return release, nil
	}
	left := false
	l.do(func(now time.Time) { left = l.slots.abandon(w, now) })
	if !left { // it got a slot at the same time
		release()
	}
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return nil, errBusy
	}
	return nil, ctx.Err()
}

// limited lets requests of the load wait for a slot, and hold it for the least time.
func (s *server) limited(handle http.HandlerFunc) http.HandlerFunc {
	if s.limit == nil && s.work == 0 {
		return handle
	}
	return func(w http.ResponseWriter, r *http.Request) {
		// Before it waits: the server's time limit for a request's body starts with its header.
		body, err := io.ReadAll(r.Body)
		if err != nil {
			refuse(w, err)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		if s.limit != nil {
			release, err := s.limit.acquire(r.Context())
			if err != nil {
				s.fail(w, r, err)
				return
			}
			defer release()
		}
		least := time.NewTimer(s.work)
		defer least.Stop()
		handle(w, r) // net/http holds a short response back until the return
		select {
		case <-least.C:
		case <-r.Context().Done():
		}
	}
}
