package gateway

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"github.com/cespare/xxhash/v2"
)

// Outcome is the outcome of a payment as known after a call.
type Outcome string

// The outcomes of a call.
const (
	Confirmed Outcome = "confirmed"
	Declined  Outcome = "declined"
	TimedOut  Outcome = "timeout" // no answer: the money may have moved or not
)

// Answer is the result of a call.
type Answer struct {
	Outcome Outcome
	Status  string // in the provider's own terms; empty without an answer
}

// statusDeclined is every provider's status of a declined payment.
const statusDeclined = "DECLINED"

// provider has its own latency and its own status of success, as real ones have.
// Latencies are lognormal, like those of remote services: many near the median, and a
// long tail.
type provider struct {
	name        string
	median, p99 time.Duration
	success     string
}

// providers by payment mode. The medians have the order of real ones (a wallet is the
// fastest, a bank the slowest) but are a few ms, so that the database is the largest
// part of a payment.
var providers = map[string]provider{
	"upi":        {"upi-switch", 3 * time.Millisecond, 12 * time.Millisecond, "SUCCESS"},
	"card":       {"card-acquirer", 5 * time.Millisecond, 20 * time.Millisecond, "CAPTURED"},
	"netbanking": {"bank-redirect", 8 * time.Millisecond, 40 * time.Millisecond, "SETTLED"},
	"wallet":     {"wallet-hub", 2 * time.Millisecond, 6 * time.Millisecond, "DEBITED"},
}

// Routes names the provider of each mode.
func Routes() map[string]string {
	routes := map[string]string{}
	for mode, p := range providers {
		routes[mode] = p.name
	}
	return routes
}

// Call is one call that has ended, for the metrics.
type Call struct {
	Kind    string // "charge" or "inquiry"
	Mode    string
	Outcome Outcome
	Took    time.Duration
}

// Gateways are the providers as configured.
type Gateways struct {
	c       Config
	observe func(Call)
}

// New makes the providers; observe is called after each call.
func New(c Config, observe func(Call)) *Gateways { return &Gateways{c, observe} }

// Charge charges a payment. It blocks until the provider answers, Config.Patience has
// passed, or ctx is done, which is the only error.
func (g *Gateways) Charge(ctx context.Context, mode, id string) (Answer, error) {
	return g.call(ctx, "charge", 0, mode, id)
}

// Inquire queries the outcome of a payment for the nth time. It blocks as Charge does,
// and may have no answer either.
func (g *Gateways) Inquire(ctx context.Context, nth int, mode, id string) (Answer, error) {
	return g.call(ctx, "inquiry", nth, mode, id)
}

func (g *Gateways) call(ctx context.Context, kind string, nth int, mode, id string) (Answer, error) {
	rnd := g.draws(fmt.Sprint(kind, nth), id)
	took := g.latency(mode, rnd)
	lost := rnd.Float64() < g.c.Timeouts.of(mode) || took > g.c.Patience
	answer := Answer{Outcome: TimedOut}
	if lost {
		took = g.c.Patience
	} else {
		answer = g.decide(mode, id)
	}
	timer := time.NewTimer(took)
	defer timer.Stop()
	start := time.Now()
	select {
	case <-timer.C:
		g.observe(Call{kind, mode, answer.Outcome, time.Since(start)})
		return answer, nil
	case <-ctx.Done():
		return Answer{}, ctx.Err()
	}
}

// decide is the provider's decision about a payment, the same at every call.
func (g *Gateways) decide(mode, id string) Answer {
	if g.draws("decision", id).Float64() < g.c.Declines.of(mode) {
		return Answer{Declined, statusDeclined}
	}
	return Answer{Confirmed, providers[mode].success}
}

// z99 is the 0.99 quantile of the standard normal distribution.
const z99 = 2.3263478740408408

// latency draws from the lognormal distribution with the provider's median and
// p99: median x exp(sigma x z), where sigma = ln(p99 / median) / z99.
func (g *Gateways) latency(mode string, rnd *rand.Rand) time.Duration {
	p := providers[mode]
	sigma := math.Log(float64(p.p99)/float64(p.median)) / z99
	ns := float64(p.median) * math.Exp(sigma*rnd.NormFloat64()) * g.c.Latency.of(mode)
	return time.Duration(min(ns, float64(math.MaxInt64/2)))
}

// draws is the sequence of random numbers for one purpose of one payment.
func (g *Gateways) draws(purpose, id string) *rand.Rand {
	return rand.New(rand.NewPCG(g.c.Seed, xxhash.Sum64String(purpose+"/"+id)))
}
