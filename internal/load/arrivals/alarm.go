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
// 0.55 ms, with the alarm 0.03 ms), which would be part of every latency. A timerfd
// uses the kernel's high-resolution clock; when it becomes readable the scheduler
// wakes up, and finds the VU's own timer expired.
type alarm struct {
	file *os.File
	fd   int
}

// newAlarm returns nil if the system has no timerfd; slots then start less precisely.
func newAlarm() *alarm {
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		return nil
	}
	return &alarm{file: os.NewFile(uintptr(fd), "timerfd"), fd: fd}
}

// minAhead is the shortest time for which the alarm is set; slots that are closer
// together share one.
const minAhead = 50 * time.Microsecond

// follow sets the alarm for one slot of the schedule after the other, until its end or
// until ctx is done.
func (a *alarm) follow(ctx context.Context, t0 time.Time, s *Schedule) {
	if a == nil {
		return
	}
	stop := context.AfterFunc(ctx, func() { _ = a.file.Close() }) // ends the read
	defer func() {
		if stop() {
			_ = a.file.Close() // no read is under way
		}
	}()
	buf := make([]byte, 8)
	for {
		due, ok := s.Next()
		if !ok {
			return
		}
		ahead := due - time.Since(t0)
		if ahead < minAhead {
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
