package probe

import (
	"time"

	"golang.org/x/sys/unix"
)

// Clock is the state of this host's clock, by the kernel.
type Clock struct {
	Known        bool
	Synchronised bool
	MaxError     time.Duration
}

// ExamineClock reads the state of the clock; it needs no privilege (adjtimex(2), modes 0).
func ExamineClock() Clock {
	var t unix.Timex
	if _, err := unix.Adjtimex(&t); err != nil {
		return Clock{}
	}
	return Clock{Known: true, Synchronised: t.Status&unix.STA_UNSYNC == 0, MaxError: time.Duration(t.Maxerror) * time.Microsecond}
}
