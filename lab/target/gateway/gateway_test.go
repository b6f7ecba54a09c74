package gateway

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/spf13/pflag"
	"pgregory.net/rapid"
)

// Latencies have the provider's median and p99, scaled by the factor. The tolerance is
// about five standard errors of p99; the draws are seeded, so that the test cannot flake.
func TestLatency(t *testing.T) {
	const draws = 20_000
	for i, mode := range Modes {
		for _, factor := range []float64{1, 20} {
			c := DefaultConfig()
			c.Latency[i] = factor
			g := New(c, nil)
			took := make([]float64, draws)
			for n := range took {
				took[n] = float64(g.latency(mode, g.draws("charge0", fmt.Sprint("p-", n))))
			}
			slices.Sort(took)
			for name, tc := range map[string]struct {
				got  float64
				want time.Duration
			}{
				"median": {took[draws/2], providers[mode].latency.P50},
				"p99":    {took[draws*99/100], providers[mode].latency.P99},
			} {
				want := factor * float64(tc.want)
				if off := math.Abs(tc.got/want - 1); off > 0.15 {
					t.Errorf("%s x%g: %s is %s, want about %s", mode, factor, name, time.Duration(tc.got), time.Duration(want))
				}
			}
		}
	}
}

// Payments are declined and answers lost according to the shares, of one mode only if
// only that is named.
func TestShares(t *testing.T) {
	c := DefaultConfig()
	c.Latency, c.Declines, c.Timeouts, c.Patience = All(0), PerMode{0, 0.1, 0, 0}, PerMode{0, 0, 0.2, 0}, time.Microsecond
	const payments = 5000
	for _, mode := range Modes {
		seen := map[Outcome]float64{}
		g := New(c, func(call Call) {
			if call.Kind != "charge" || call.Mode != mode {
				t.Errorf("observed %+v", call)
			}
			seen[call.Outcome] += 1.0 / payments
		})
		for n := range payments {
			if _, err := g.Charge(t.Context(), mode, fmt.Sprint("p-", n)); err != nil {
				t.Fatal(err)
			}
		}
		declined, lost := 0.0, 0.0
		switch mode {
		case "card":
			declined = 0.1
		case "netbanking":
			lost = 0.2
		}
		if math.Abs(seen[Declined]-declined) > 0.02 || math.Abs(seen[TimedOut]-lost) > 0.02 {
			t.Errorf("%s: %v", mode, seen)
		}
	}
}

// The same payment has the same result again under the same seed; another seed gives
// another result.
func TestRepeatable(t *testing.T) {
	c := DefaultConfig()
	c.Declines = All(0.5)
	other := c
	other.Seed++
	g, again, elsewhere := New(c, nil), New(c, nil), New(other, nil)
	differ := 0
	for n := range 200 {
		id := fmt.Sprint("p-", n)
		if g.decide("upi", id) != again.decide("upi", id) ||
			g.latency("upi", g.draws("charge0", id)) != again.latency("upi", again.draws("charge0", id)) {
			t.Fatalf("%s had another result the second time", id)
		}
		if g.decide("upi", id) != elsewhere.decide("upi", id) {
			differ++
		}
	}
	if differ < 50 || differ > 150 {
		t.Errorf("under another seed %d of 200 decisions differ, want about half", differ)
	}
}

// An answer that takes longer than the patience is lost, and an inquiry returns the
// result of the charge.
func TestPatience(t *testing.T) {
	c := DefaultConfig()
	c.Declines, c.Timeouts, c.Patience = All(0.5), All(0), 2*time.Millisecond
	c.Latency = All(1e6)
	var calls []Call
	slow := New(c, func(call Call) { calls = append(calls, call) })
	c.Latency = All(0)
	quick := New(c, func(call Call) { calls = append(calls, call) })
	for n := range 20 {
		id := fmt.Sprint("p-", n)
		answer, err := slow.Charge(t.Context(), "card", id)
		if err != nil || answer != (Answer{Outcome: TimedOut}) {
			t.Fatalf("slow gateway: %+v, %v", answer, err)
		}
		charged, err := quick.Charge(t.Context(), "card", id)
		if err != nil {
			t.Fatal(err)
		}
		if inquired, err := quick.Inquire(t.Context(), 1, "card", id); err != nil || inquired != charged {
			t.Errorf("charged: %+v; by an inquiry: %+v, %v", charged, inquired, err)
		}
	}
	if calls[0].Took < c.Patience || calls[0].Outcome != TimedOut || calls[2].Kind != "inquiry" {
		t.Errorf("observed %+v", calls[:3])
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	c.Latency, c.Patience = All(1e6), time.Minute
	if _, err := New(c, nil).Charge(ctx, "upi", "p"); !errors.Is(err, context.Canceled) {
		t.Errorf("error of a cancelled call: %v", err)
	}
}

func TestFlags(t *testing.T) {
	c := DefaultConfig()
	fs := pflag.NewFlagSet("gateway", pflag.ContinueOnError)
	c.Flags(fs)
	err := fs.Parse([]string{"--gateway-latency", "card=20,upi=3", "--gateway-latency=upi=2", "--gateway-declines", "0", "--gateway-timeouts=0.5,wallet=0"})
	want := DefaultConfig()
	want.Latency, want.Declines, want.Timeouts = PerMode{2, 20, 1, 1}, PerMode{}, PerMode{0.5, 0.5, 0.5, 0}
	if err != nil || c != want {
		t.Errorf("got %+v, %v\nwant %+v", c, err, want)
	}
	for _, bad := range []string{"", "x", "cash=1", "card=", "card=1;upi=2", "=1"} {
		before := c.Latency
		if err := fs.Set("gateway-latency", bad); err == nil || c.Latency != before {
			t.Errorf("%q: %v, %v", bad, c.Latency, err)
		}
	}
}

func TestValidate(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*Config)
		ok     bool
	}{
		"defaults":          {func(*Config) {}, true},
		"a dead gateway":    {func(c *Config) { c.Timeouts = All(1) }, true},
		"negative latency":  {func(c *Config) { c.Latency[2] = -1 }, false},
		"latency NaN":       {func(c *Config) { c.Latency[0] = math.NaN() }, false},
		"latency Inf":       {func(c *Config) { c.Latency[0] = math.Inf(1) }, false},
		"share above 1":     {func(c *Config) { c.Declines[1] = 1.1 }, false},
		"negative share":    {func(c *Config) { c.Timeouts[3] = -0.1 }, false},
		"no patience":       {func(c *Config) { c.Patience = 0 }, false},
		"too much patience": {func(c *Config) { c.Patience = time.Hour }, false},
	} {
		c := DefaultConfig()
		tc.change(&c)
		if err := c.Validate(); (err == nil) != tc.ok {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// What String writes, Set reads.
func TestPerModeRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var p, back PerMode
		for i := range p {
			p[i] = rapid.Float64Range(0, 2).Draw(t, Modes[i])
		}
		if err := back.Set(p.String()); err != nil || back != p {
			t.Errorf("%v became %q became %v: %v", p, p.String(), back, err)
		}
	})
}
