package gateway

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/cespare/xxhash/v2"

	"assay.dev/assay/internal/spec"
)

// Outcome is the outcome of a payment as known after a call.
type Outcome string

// The outcomes of a call.
const (
	Confirmed Outcome = "confirmed"
	Declined  Outcome = "declined"
	TimedOut  Outcome = "timeout" // no answer: the money may have moved or not
	Failed    Outcome = "error"   // an error instead of an answer: likewise
)

// Known reports whether the outcome says what became of the payment.
func (o Outcome) Known() bool { return o == Confirmed || o == Declined }

// Answer is the result of a call.
type Answer struct {
	Outcome Outcome
	Status  string // in the provider's own terms; empty without an answer
}

// statusDeclined is every provider's status of a declined payment.
const statusDeclined = "DECLINED"

// provider has its own latency and its own status of success, as real ones have.
type provider struct {
	name    string
	latency spec.Latency
	success string
}

// providers by payment mode. The medians have the order of real ones (a wallet is the
// fastest, a bank the slowest) but are a few ms, so that the database is the largest
// part of a payment.
var providers = map[string]provider{
	"upi":        {"upi-switch", ms(3, 12), "SUCCESS"},
	"card":       {"card-acquirer", ms(5, 20), "CAPTURED"},
	"netbanking": {"bank-redirect", ms(8, 40), "SETTLED"},
	"wallet":     {"wallet-hub", ms(2, 6), "DEBITED"},
}

func ms(p50, p99 time.Duration) spec.Latency {
	return spec.Latency{P50: p50 * time.Millisecond, P99: p99 * time.Millisecond}
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
	Last    bool // no further call is made for this charge or inquiry
}

// Gateways are the providers as configured.
type Gateways struct {
	c       Config
	observe func(Call)
	http    *http.Client
}

// New makes the providers; observe is called after each call.
func New(c Config, observe func(Call)) *Gateways { return &Gateways{c, observe, newClient()} }

// Close closes the connections to providers.
func (g *Gateways) Close() { g.http.CloseIdleConnections() }

// Charge charges a payment. It blocks until the provider answers, Config.Patience has
// passed, or ctx is done, which is the only error. A call without an answer is repeated
// Config.Retries times, each as patient as the first.
func (g *Gateways) Charge(ctx context.Context, mode, id string) (Answer, error) {
	for try := 0; ; try++ {
		answer, err := g.call(ctx, request{kind: "charge", try: try, last: try == g.c.Retries, mode: mode, id: id})
		if err != nil || answer.Outcome.Known() || try == g.c.Retries {
			return answer, err
		}
		if err := g.backOff(ctx, try, id); err != nil {
			return Answer{}, err
		}
	}
}

// backOff waits before a call is repeated, half to one and a half times as long as
// configured: callers that wait equally long come back at the same time.
func (g *Gateways) backOff(ctx context.Context, try int, id string) error {
	if g.c.Backoff == 0 {
		return ctx.Err()
	}
	wait := float64(g.c.Backoff) * math.Pow(2, float64(try)) * (0.5 + g.draws(fmt.Sprint("backoff", try), id).Float64())
	timer := time.NewTimer(time.Duration(min(wait, float64(time.Hour))))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Inquire queries the outcome of a payment for the nth time. It blocks as Charge does,
// and may have no answer either.
func (g *Gateways) Inquire(ctx context.Context, nth int, mode, id string) (Answer, error) {
	return g.call(ctx, request{kind: "inquiry", nth: nth, last: true, mode: mode, id: id})
}

// request is one call to be made.
type request struct {
	kind     string // "charge" or "inquiry"
	nth      int    // number of an inquiry, from 1; 0: a charge
	try      int    // number of a try of a charge, from 0
	last     bool
	mode, id string
}

// call makes one call, and observes it.
func (g *Gateways) call(ctx context.Context, r request) (answer Answer, err error) {
	start := time.Now()
	if base := g.c.URL.of(r.mode); base != "" {
		answer, err = g.send(ctx, base, r)
	} else {
		answer, err = g.simulate(ctx, r)
	}
	if err != nil {
		return Answer{}, err
	}
	g.observe(Call{r.kind, r.mode, answer.Outcome, time.Since(start), r.last || answer.Outcome.Known()})
	return answer, nil
}

func (g *Gateways) simulate(ctx context.Context, r request) (Answer, error) {
	purpose := fmt.Sprint(r.kind, r.nth)
	if r.try > 0 {
		purpose += fmt.Sprint("/", r.try)
	}
	rnd := g.draws(purpose, r.id)
	took := g.latency(r.mode, rnd)
	lost := rnd.Float64() < g.c.Timeouts.of(r.mode) || took > g.c.Patience
	answer := Answer{Outcome: TimedOut}
	if lost {
		took = g.c.Patience
	} else {
		answer = g.decide(r.mode, r.id)
	}
	timer := time.NewTimer(took)
	defer timer.Stop()
	select {
	case <-timer.C:
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

// latency draws from the provider's latencies.
func (g *Gateways) latency(mode string, rnd *rand.Rand) time.Duration {
	ns := float64(providers[mode].latency.At(rnd.NormFloat64())) * g.c.Latency.of(mode)
	return time.Duration(min(ns, float64(math.MaxInt64/2)))
}

// draws is the sequence of random numbers for one purpose of one payment.
func (g *Gateways) draws(purpose, id string) *rand.Rand {
	return rand.New(rand.NewPCG(g.c.Seed, xxhash.Sum64String(purpose+"/"+id)))
}
