package scrape

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"golang.org/x/sync/errgroup"

	"assay.dev/assay/internal/foreign"
	"assay.dev/assay/internal/observe/metric"
)

const (
	// maxConcurrent bounds the endpoints of a group that are read at the same time, and
	// with maxBody the memory for it.
	maxConcurrent = 32
	// roundTimeout bounds the reading of all endpoints of a group, which is repeated every
	// second.
	roundTimeout = 900 * time.Millisecond
)

// Answer is what was read from one endpoint of a group.
type Answer[T any] struct {
	Endpoint *Endpoint // the same each time, until the instance is no longer listed
	Value    T         // as parse returned it, also with an error; zero if the endpoint did not answer
	Err      error     // it did not answer in time, or its answer is invalid
}

// guarded calls parse, with its panic as an error: it would end the process from the
// goroutine of a reading.
func guarded[T any](parse func(*Endpoint, []byte) (T, error), e *Endpoint, exposition []byte) (v T, err error) {
	defer foreign.Guard(&err)
	return parse(e, exposition)
}

// Read reads all endpoints of a group concurrently, in at most about a second, and returns
// an answer for each, sorted by URL. parse is called concurrently. An endpoint that could
// not be tried in time has an error too.
func Read[T any](ctx context.Context, g *Group, parse func(e *Endpoint, exposition []byte) (T, error)) []Answer[T] {
	g.refresh()
	ctx, cancel := context.WithTimeout(ctx, roundTimeout)
	defer cancel()
	answers := make([]Answer[T], len(g.members))
	var reading errgroup.Group
	reading.SetLimit(maxConcurrent)
	for _, i := range g.order() {
		reading.Go(func() error {
			m, a := g.members[i], &answers[i]
			a.Endpoint = m.Endpoint
			if a.Err = ctx.Err(); a.Err != nil {
				return nil // it was not tried, so that it is not failing
			}
			body, err := m.Fetch(ctx)
			if err == nil {
				a.Value, err = guarded(parse, m.Endpoint, body)
			}
			a.Err, m.failing = err, err != nil
			return nil
		})
	}
	_ = reading.Wait() // errors are in the answers
	return answers
}

// order returns the indices of the members, those that did not answer last, so that
// hanging instances leave the time of a round to the others. If it is too short for all of
// them, chance decides which are tried.
func (g *Group) order() []int {
	var answering, failing []int
	for i, m := range g.members {
		if m.failing {
			failing = append(failing, i)
		} else {
			answering = append(answering, i)
		}
	}
	rand.Shuffle(len(failing), func(i, j int) { failing[i], failing[j] = failing[j], failing[i] })
	return append(answering, failing...)
}

// Largest reads all endpoints and returns the largest value of one metric; see the function
// Largest. It fails if an endpoint does not answer or is not read, because that could have
// a larger value. An endpoint that answers without the metric has no value, but one of them
// must have it.
func (g *Group) Largest(ctx context.Context, name string, labels ...metric.Label) (float64, error) {
	answers := Read(ctx, g, func(_ *Endpoint, exposition []byte) (float64, error) {
		return Largest(exposition, name, labels...)
	})
	if g.left > 0 {
		return 0, fmt.Errorf("scrape metrics: %d of the service's instances are not read: there are more than %d", g.left, maxInstances)
	}
	if len(answers) == 0 {
		return 0, errors.New("scrape metrics: the service has no instance that is ready")
	}
	largest, found := math.Inf(-1), false
	var lacking error
	for _, a := range answers {
		var none *noMetricError
		switch {
		case errors.As(a.Err, &none):
			lacking = fmt.Errorf("%s has %w", a.Endpoint, a.Err)
		case a.Err != nil:
			return 0, a.Err
		default:
			largest, found = max(largest, a.Value), true
		}
	}
	if !found {
		return 0, lacking
	}
	return largest, nil
}
