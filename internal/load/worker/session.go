package worker

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"assay.dev/assay/internal/wire"
)

// session is a worker's part in one run.
type session struct {
	link       *wire.Link // with the worker's credential
	assignment wire.Assignment
	dir        string
	clock      *clock
	spool      *spool
	log        logBuffer
	say        func(format string, args ...any)

	k6        atomic.Pointer[child]
	heard     atomic.Int64 // when the coordinator last answered, ns since begin
	begin     time.Time
	lostAfter time.Duration // wire.LostAfter

	parent      int         // pid of the process that started this one
	interrupted atomic.Bool // this process was
	stopOnce    sync.Once
	stopping    chan struct{} // closed when the load is to end
	// lost is done, with the cause, when no report can be delivered any more.
	lost   context.Context
	giveUp context.CancelCauseFunc
}

const (
	heartbeatEvery = time.Second
	// exchangeTimeout bounds an exchange of timestamps.
	exchangeTimeout = 5 * time.Second
	// messageTimeout bounds one attempt to send a message. An archive or a setup() of
	// many megabytes takes time.
	messageTimeout = 30 * time.Second
	// stopTimeout is how long k6 may take to stop. Its transactions end within seconds;
	// teardown(), and what further outputs still hold, may take a while.
	stopTimeout = 30 * time.Second
)

func newSession(link *wire.Link, a wire.Assignment, dir string, c *clock, say func(string, ...any)) *session {
	s := &session{link: link.As(a), assignment: a, dir: dir, clock: c, spool: newSpool(dir, say), say: say, lostAfter: wire.LostAfter, begin: time.Now(), parent: os.Getppid(), stopping: make(chan struct{})}
	s.lost, s.giveUp = context.WithCancelCause(context.Background())
	return s
}

func (s *session) k6PID() int {
	if c := s.k6.Load(); c != nil {
		return c.PID
	}
	return 0
}

// answered notes that the coordinator has answered.
func (s *session) answered() { s.heard.Store(int64(time.Since(s.begin))) }

// silence is for how long the coordinator has not answered.
func (s *session) silence() time.Duration {
	return time.Since(s.begin) - time.Duration(s.heard.Load())
}

// attempt repeats send until it succeeds, is refused, or the coordinator is lost.
func (s *session) attempt(ctx context.Context, send func(context.Context) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(s.lost, cancel)()
	err := wire.Retry(ctx, messageTimeout, send)
	var refused *wire.RefusedError
	switch {
	case err == nil || errors.As(err, &refused):
		s.answered()
	case s.lost.Err() != nil:
		return context.Cause(s.lost)
	}
	return err
}

// sayExit says how the worker has ended. The coordinator may be there, and have refused the
// reports: then it is told once.
func (s *session) sayExit(exit wire.Exit) error {
	send := func(ctx context.Context) error { return s.link.Exit(ctx, exit) }
	if s.lost.Err() == nil {
		return s.attempt(context.Background(), send)
	}
	ctx, cancel := context.WithTimeout(context.Background(), exchangeTimeout)
	defer cancel()
	return send(ctx)
}

// heartbeats exchanges timestamps with the coordinator until ctx is done, follows its
// order to stop, and ends the load when it does not answer any more.
func (s *session) heartbeats(ctx context.Context) {
	for n := 0; ctx.Err() == nil; n++ {
		s.exchange(ctx)
		switch silent := s.silence(); {
		case s.orphaned() && s.ended():
			s.giveUp(errors.New("the coordinator, which had started this worker, has ended"))
			return
		case silent > 2*s.lostAfter && s.ended():
			s.giveUp(fmt.Errorf("the coordinator has not answered for %s", silent.Round(time.Second)))
			return
		case silent > s.lostAfter:
			s.stop(fmt.Sprintf("the coordinator has not answered for %s", silent.Round(time.Second)))
		}
		pause := heartbeatEvery
		if n < compared { // the offset must be known at the start
			pause /= 10
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
}

// exchange makes one exchange of timestamps.
func (s *session) exchange(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, exchangeTimeout)
	defer cancel()
	e := exchange{sent: s.clock.now()}
	pulse, err := s.link.Heartbeat(ctx)
	var refused *wire.RefusedError
	switch {
	case errors.As(err, &refused):
		s.stop(refused.Error())
		s.giveUp(err)
		return
	case err != nil:
		return // silence counts
	}
	e.returned, e.received, e.answered = s.clock.now(), pulse.Received, pulse.Answered
	s.answered()
	s.clock.add(e)
	if pulse.Stop != "" {
		s.stop("the coordinator ends the load: " + pulse.Stop)
	}
}

// orphaned reports whether the coordinator that started this process has ended, which the
// kernel tells by SIGTERM: nobody waits for its reports.
func (s *session) orphaned() bool { return s.interrupted.Load() && os.Getppid() != s.parent }

// stop ends the load. k6 interrupts its iterations and reports them.
func (s *session) stop(why string) {
	first := false
	s.stopOnce.Do(func() {
		close(s.stopping)
		first = true
	})
	if first { // afterwards: it may take for ever to say so
		s.say("stopping: %s", why)
	}
}

// stopK6 waits until k6 has ended by itself, or is to be stopped.
func (s *session) stopK6(c *child) {
	select {
	case <-c.Done():
		return
	case <-s.stopping:
	}
	limit := stopTimeout
	if s.orphaned() { // nobody waits for its reports
		limit = 0
	}
	_ = c.Signal(syscall.SIGTERM) // does nothing if it has ended
	_ = c.Signal(syscall.SIGCONT) // a stopped process receives no other signal
	select {
	case <-c.Done():
	case <-time.After(limit):
		_ = c.Kill() // its status says so
	}
}

// ended reports whether k6 has ended.
func (s *session) ended() bool {
	c := s.k6.Load()
	if c == nil {
		return true
	}
	select {
	case <-c.Done():
		return true
	default:
		return false
	}
}

// deliver sends the spooled messages in order until the spool is closed and empty, or
// the coordinator is lost.
func (s *session) deliver() {
	for s.lost.Err() == nil {
		i, found, err := s.spool.first()
		switch {
		case err != nil:
			s.fail(err)
			return
		case !found && s.spool.isClosed():
			return
		case !found:
			select {
			case <-s.spool.wake:
			case <-s.lost.Done():
			}
			continue
		}
		err = s.attempt(context.Background(), func(ctx context.Context) error {
			if i.frames {
				_, err := s.link.Frames(ctx, i.body)
				return err
			}
			return s.link.Acknowledged(ctx, i.sequence, i.body)
		})
		if err != nil {
			s.fail(err)
			return
		}
		s.spool.remove()
	}
}

// fail ends the load because its reports cannot be delivered.
func (s *session) fail(err error) {
	s.stop(err.Error())
	s.giveUp(err)
}

// sendLog sends what k6 has logged until all was sent after ctx is done.
func (s *session) sendLog(ctx context.Context) {
	for s.lost.Err() == nil {
		last := ctx.Err() != nil
		if last {
			s.log.end()
		}
		for {
			offset, text := s.log.next()
			if len(text) == 0 {
				break
			}
			if err := s.attempt(context.Background(), func(ctx context.Context) error { return s.link.Log(ctx, offset, text) }); err != nil {
				return // a log that is refused is no reason to end the load
			}
			s.log.delivered(len(text))
		}
		if last {
			return
		}
		select {
		case <-ctx.Done():
		case <-time.After(heartbeatEvery):
		}
	}
}
