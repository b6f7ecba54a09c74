package probe

import (
	"time"

	"golang.org/x/sys/unix"
)

// Clock is what the kernel says of this host's clock.
type Clock struct {
	Known        bool
	Synchronised bool
	MaxError     time.Duration
}

// LookAtClock asks the kernel; it needs no right (adjtimex(2), modes 0).
func LookAtClock() Clock {
	var t unix.Timex
	if _, err := unix.Adjtimex(&t); err != nil {
		return Clock{}
	}
	return Clock{Known: true, Synchronised: t.Status&unix.STA_UNSYNC == 0, MaxError: time.Duration(t.Maxerror) * time.Microsecond}
}
