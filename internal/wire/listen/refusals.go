package listen

import (
	"log/slog"
	"net/netip"
	"sync"
	"time"
)

// Refusal is why connections were closed, as in: refused 12 connections: wrong token.
type Refusal string

const (
	TooFast      Refusal = "too many in a second from one address"
	TooMany      Refusal = "too many without the token"
	TooLate      Refusal = "no token in time"
	NoToken      Refusal = "the token is missing or wrong"
	PlainHTTP    Refusal = "plain HTTP from another host"
	BadHandshake Refusal = "the TLS handshake failed"
	TooLarge     Refusal = "a body over its limit"
	BadBody      Refusal = "a body that cannot be read"
	Ended        Refusal = "the run has ended"
)

// refusals counts refusals, and logs each kind once a second at most, except TooLate:
// HTTP clients open a connection more than they use.
type refusals struct {
	log *slog.Logger

	mu  sync.Mutex
	all map[Refusal]*refused
}

type refused struct {
	count, logged int
	at            time.Time // time of the last line
}

func newRefusals(log *slog.Logger) *refusals {
	return &refusals{log: log, all: map[Refusal]*refused{}}
}

// add counts a refusal of a client. The log has the number since the line before.
func (r *refusals) add(why Refusal, from netip.Addr) {
	now := time.Now()
	r.mu.Lock()
	k := r.all[why]
	if k == nil {
		k = &refused{}
		r.all[why] = k
	}
	k.count++
	unlogged := k.count - k.logged
	due := now.Sub(k.at) >= time.Second && why != TooLate
	if due {
		k.logged, k.at = k.count, now
	}
	r.mu.Unlock()
	if due {
		r.log.Warn("connections refused", "why", string(why), "connections", unlogged, "last_from", from)
	}
}

func (r *refusals) counts() map[Refusal]int {
	r.mu.Lock()
	defer r.mu.Unlock()
	counts := map[Refusal]int{}
	for why, k := range r.all {
		counts[why] = k.count
	}
	return counts
}
