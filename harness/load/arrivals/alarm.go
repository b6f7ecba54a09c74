package arrivals

import (
	"context"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// alarm wakes Go's scheduler at the instants at which slots fall due.
//
// The runtime sleeps in epoll_wait, which counts whole milliseconds: on an idle
// process timers fire half a millisecond late on average (measured: median
// 0.55 ms, with the alarm 0.03 ms), which would stand in every latency. A timerfd
// has the kernel's high-resolution clock behind it; when it becomes readable the
// scheduler wakes up, and finds the VU's own timer expired.
type alarm struct {
	file *os.File
	fd   int
}

// newAlarm makes an alarm; nil where the system gives none, which costs only
// precision.
func newAlarm() *alarm {
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		return nil
	}
	return &alarm{file: os.NewFile(uintptr(fd), "timerfd"), fd: fd}
}

// rest is the least time worth setting the alarm for; instants that lie nearer
// together are served by one.
const rest = 50 * time.Microsecond

// ring goes through a schedule until its end, or until ctx is done.
func (a *alarm) ring(ctx context.Context, t0 time.Time, s *Schedule) {
	if a == nil {
		return
	}
	stop := context.AfterFunc(ctx, func() { _ = a.file.Close() }) // ends the read
	defer func() {
		if stop() {
			_ = a.file.Close() // nothing is read any more
		}
	}()
	buf := make([]byte, 8)
	for {
		due, ok := s.Next()
		if !ok {
			return
		}
		ahead := due - time.Since(t0)
		if ahead < rest {
			continue
		}
		spec := unix.ItimerSpec{Value: unix.NsecToTimespec(int64(ahead))}
		if unix.TimerfdSettime(a.fd, 0, &spec, nil) != nil {
			return
		}
		if _, err := a.file.Read(buf); err != nil {
			return // closed
		}
	}
}
