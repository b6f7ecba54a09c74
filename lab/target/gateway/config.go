package gateway

import (
	"fmt"
	"time"

	"github.com/spf13/pflag"
)

// Config is the behaviour of the providers.
type Config struct {
	Latency  PerMode       // factor on a provider's latencies; 20 = a slow one, 0 = none
	Declines PerMode       // share of payments that are declined [0,1]
	Timeouts PerMode       // share of calls whose answer is lost [0,1]
	Patience time.Duration // how long a call waits for an answer
	Seed     uint64

	URL     PerModeURL    // base URL of the provider; empty: it is simulated
	Retries int           // how often a call without an answer, or with an error, is repeated
	Backoff time.Duration // before the first repetition, doubled before each further one; 0: none
}

// DefaultConfig is that of fast providers. Real ones decline more and take longer; with
// these the database is the largest part of a payment.
func DefaultConfig() Config {
	return Config{
		Latency:  All(1),
		Declines: PerMode{0.01, 0.02, 0.02, 0.005},
		Timeouts: PerMode{0.0005, 0.001, 0.002, 0.0005},
		Patience: time.Second,
		Seed:     1,
	}
}

// Flags registers a flag for every field. Defaults are the values of c.
func (c *Config) Flags(fs *pflag.FlagSet) {
	fs.Var(&c.Latency, "gateway-latency", "factor on the payment gateways' latencies, for all payment modes or by mode: 20, or card=20")
	fs.Var(&c.Declines, "gateway-declines", "share of payments that a gateway declines: 0 for none, or by mode")
	fs.Var(&c.Timeouts, "gateway-timeouts", "share of calls whose answer is lost, which leaves the payment PENDING: 0 for none, or by mode")
	fs.DurationVar(&c.Patience, "gateway-patience", c.Patience, "how long the service waits for a gateway's answer")
	fs.Var(&c.URL, "gateway-url", "base URL of payment gateways that are called over HTTP instead of simulated, for all payment modes or by mode: http://127.0.0.1:18090, or card=http://...")
	fs.IntVar(&c.Retries, "gateway-retries", c.Retries, "how often a call to a gateway without an answer within the patience, or with an error, is repeated")
	fs.DurationVar(&c.Backoff, "gateway-backoff", c.Backoff, "wait before the first repetition of a call, with a random part, and twice as long before each further one; 0 repeats at once")
	fs.Uint64Var(&c.Seed, "gateway-seed", c.Seed, "seed of the gateways: with the same seed a payment has the same result")
}

// Validate refuses values that cannot be simulated, and names the flag.
func (c Config) Validate() error {
	for _, check := range []struct {
		ok         bool
		flag, want string
	}{
		{c.Latency.within(0, 1e6), "--gateway-latency", "factors from 0 to 1000000"},
		{c.Declines.within(0, 1), "--gateway-declines", "shares from 0 to 1"},
		{c.Timeouts.within(0, 1), "--gateway-timeouts", "shares from 0 to 1"},
		{c.Retries >= 0 && c.Retries <= 100, "--gateway-retries", "0 to 100"},
		{c.Backoff >= 0 && c.Backoff <= time.Minute, "--gateway-backoff", "0 to 1m"},
		{c.Patience > 0 && c.Patience <= time.Minute, "--gateway-patience", "more than 0, 1m at most"},
	} {
		if !check.ok {
			return fmt.Errorf("%s: want %s", check.flag, check.want)
		}
	}
	return nil
}
