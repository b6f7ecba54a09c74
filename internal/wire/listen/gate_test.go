package listen

import (
	"log/slog"
	"net/netip"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// Whatever comes, the account adds up, no limit is exceeded, and nothing is remembered
// of those who have gone.
func TestAccountOfConnections(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limits := Limits{
			Pending: rapid.IntRange(1, 12).Draw(t, "pending"), PendingPerAddress: rapid.IntRange(1, 6).Draw(t, "per address"),
			Burst: rapid.IntRange(1, 10).Draw(t, "burst"), Rate: rapid.IntRange(1, 10).Draw(t, "rate"),
		}.orDefault()
		limits.Authorize = time.Hour
		g := newGate(nil, nil, limits, newRefusals(slog.New(slog.DiscardHandler)))
		begin := time.Unix(1_800_000_000, 0)
		now := begin
		var pending []*conn // the oldest first
		admitted := map[netip.Prefix]int{}
		drop := func(i int) {
			pending = append(pending[:i:i], pending[i+1:]...)
		}
		for range rapid.IntRange(1, 200).Draw(t, "steps") {
			switch rapid.SampledFrom([]string{"arrive", "arrive", "arrive", "end", "time"}).Draw(t, "step") {
			case "arrive":
				c := &conn{gate: g, from: netip.MustParseAddr(rapid.SampledFrom([]string{
					"192.0.2.1", "192.0.2.2", "192.0.2.3", "2001:db8::1", "2001:db8::2", "2001:db8:0:1::1",
				}).Draw(t, "from"))}
				of := 0
				for _, p := range pending {
					if network(p.from) == network(c.from) {
						of++
					}
				}
				oldest, why := g.admit(c, now)
				switch {
				case why != "" && (c.place != nil || oldest != nil), oldest != nil && (len(pending) < limits.Pending || oldest != pending[0]),
					why == TooMany && of < limits.PendingPerAddress, why == "" && of >= limits.PendingPerAddress:
					t.Fatalf("%s with %d of %d pending: %q, %v makes room", c.from, of, len(pending), why, oldest)
				}
				if oldest != nil {
					drop(0)
				}
				if why == "" {
					pending = append(pending, c)
					admitted[network(c.from)]++
				}
			case "end":
				if len(pending) > 0 {
					i := rapid.IntRange(0, len(pending)-1).Draw(t, "which")
					if !pending[i].settle() || pending[i].settle() {
						t.Fatal("a connection must end once")
					}
					drop(i)
				}
			case "time":
				now = now.Add(time.Duration(rapid.IntRange(0, 1500).Draw(t, "ms")) * time.Millisecond)
			}
			sum := 0
			for _, p := range g.peers {
				sum += p.pending
			}
			if g.pending.Len() != len(pending) || sum != len(pending) || sum > limits.Pending {
				t.Fatalf("%d in the list, %d by address, %d pending, limit %d", g.pending.Len(), sum, len(pending), limits.Pending)
			}
			for key, n := range admitted {
				if most := float64(limits.Burst) + now.Sub(begin).Seconds()*float64(limits.Rate); float64(n) > most {
					t.Fatalf("%s: %d connections, more than %g", key, n, most)
				}
			}
		}
		for len(pending) > 0 {
			pending[0].settle()
			drop(0)
		}
		g.sweep(now.Add(time.Hour))
		if len(g.peers) != 0 {
			t.Fatalf("%d addresses are remembered", len(g.peers))
		}
	})
}
