package listen

import (
	"cmp"
	"time"

	"golang.org/x/sys/unix"
)

// Limits bound what clients cost. Where a field is 0, the default holds. An address of
// IPv6 stands for its /64, of which a client may have every address.
type Limits struct {
	// Connections that have not shown the token yet, in total and of one address. One
	// more in total closes the oldest, so that a few addresses cannot lock out others.
	Pending, PendingPerAddress int

	// New connections of one address: at once, and a second after that.
	Burst, Rate int

	Authorize time.Duration // from the connection to its first request with the token
	Header    time.Duration // for the header of a further request
	Body      time.Duration // for a body
	Write     time.Duration // for a client to take what is written at once, 16 KiB at most
	Idle      time.Duration // between two requests
}

// The defaults let 2,000 clients behind one address connect at once, and bound what a
// flood from one address costs, after its burst, to about an eighth of a core: a new TLS
// connection takes about 0.5 ms of CPU, one over the limit 0.04 ms (BenchmarkRefused).
func (l Limits) orDefault() Limits {
	l.Pending = cmp.Or(l.Pending, min(4000, descriptors()/4))
	l.PendingPerAddress = cmp.Or(l.PendingPerAddress, min(1500, l.Pending/2))
	l.Burst = cmp.Or(l.Burst, 2000)
	l.Rate = cmp.Or(l.Rate, 200)
	l.Authorize = cmp.Or(l.Authorize, 5*time.Second)
	l.Header = cmp.Or(l.Header, 10*time.Second)
	l.Body = cmp.Or(l.Body, time.Minute)
	l.Write = cmp.Or(l.Write, 30*time.Second)
	l.Idle = cmp.Or(l.Idle, 3*time.Minute) // SDKs export each minute
	return l
}

// descriptors is how many this process may have open.
func descriptors() int {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return 1024
	}
	return int(min(limit.Cur, 1<<20))
}
