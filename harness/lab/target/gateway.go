package target

import (
	"context"
	"time"
)

// gateway is a simulated payment provider: one for each payment mode, with a
// latency and a word for success of its own, as real ones have.
type gateway struct {
	name    string
	latency time.Duration
	status  string
}

// gateways by payment mode. The latencies keep the order of real rails (a
// wallet answers first, a bank last) but are a few ms, so that the database
// stays the largest part of a payment.
var gateways = map[string]gateway{
	"upi":        {name: "upi-switch", latency: 3 * time.Millisecond, status: "SUCCESS"},
	"card":       {name: "card-acquirer", latency: 5 * time.Millisecond, status: "CAPTURED"},
	"netbanking": {name: "bank-redirect", latency: 8 * time.Millisecond, status: "SETTLED"},
	"wallet":     {name: "wallet-hub", latency: 2 * time.Millisecond, status: "DEBITED"},
}

// charge blocks for the provider's latency, or until ctx is done.
func (g gateway) charge(ctx context.Context) (status string, err error) {
	timer := time.NewTimer(g.latency)
	defer timer.Stop()
	select {
	case <-timer.C:
		return g.status, nil
	case <-ctx.Done():
		return "", ctx.Err()
	}
}
