package run

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"

	"assay.dev/assay/internal/foreign"
	"assay.dev/assay/internal/hint"
	"assay.dev/assay/internal/observe/collect/stubs"
	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/observe/record"
	"assay.dev/assay/internal/spec"
)

// stubCollectors are those of the profile's stubs, by name.
func (o Options) stubCollectors() (all []*stubs.Collector, err error) {
	for _, name := range slices.Sorted(maps.Keys(o.Profile.Stubs)) {
		of := stubs.Options{
			Name: name, Stub: o.Profile.Stubs[name], Token: o.StubToken, Run: o.ID,
			Hosts: slices.Concat([]string{targetHost(o.Target)}, o.File.Targets, o.AllowHosts),
		}
		if path := o.File.StubPath(of.Stub); path != "" {
			data, err := foreign.ReadLinked(path, spec.MaxBytes)
			if err != nil {
				return nil, hint.With(fmt.Errorf("read the file of stub %s: %w", name, err), `correct "file" of the profile's stub, or omit it: then the stub may run any file`)
			}
			sum := sha256.Sum256(data)
			of.Digest = "sha256:" + hex.EncodeToString(sum[:])
		}
		all = append(all, stubs.New(of))
	}
	return all, nil
}

// CheckStubs returns why a run could not begin at the first of the profile's stubs at which
// it could not.
func CheckStubs(ctx context.Context, o Options) error {
	all, err := o.stubCollectors()
	if err != nil {
		return err
	}
	for _, s := range all {
		err = cmp.Or(err, s.Check(ctx))
		_ = s.Close() // its connections: nothing has begun
	}
	return err
}

// startStubs begins to read the profile's stubs. The preflight has reached them, and what has
// failed since then is a limitation.
func (r *run) startStubs(ctx, running context.Context, c *collection) {
	all, err := r.stubCollectors()
	if err != nil {
		for name := range r.Profile.Stubs {
			c.absent(metric.StubSource(name), err.Error())
		}
		r.note(err.Error())
		return
	}
	r.stubs = all
	for _, s := range all {
		if err := c.begin(ctx, running, s, r.numbered); err != nil {
			r.note(err.Error())
		}
	}
}

// stubFacts reads the ledgers of the stubs into the record, and returns what is known of each,
// and limitations.
func (r *run) stubFacts(ctx context.Context) (facts []record.Stub, limitations []string) {
	for _, s := range r.stubs {
		fact, begun := s.Fact()
		if !begun {
			continue // its collector has failed, which is a limitation
		}
		limitations = append(limitations, aboutStub(fact)...)
		var err error
		switch {
		case ctx.Err() != nil:
			err = errors.New("the run was interrupted")
		case r.writeError == nil:
			var l record.StubLedger
			err = r.writer.StubCalls(fact.Name, func(add func([]byte) error) (err error) {
				l, err = s.Ledger(ctx, add)
				return err
			})
			if err == nil {
				fact.Ledger = &l
			}
		}
		if err != nil {
			limitations = append(limitations, fmt.Sprintf("the ledger of stub %s was not read: %v", fact.Name, err))
		}
		facts = append(facts, fact)
	}
	return facts, limitations
}

// aboutStub is what a reader of the claim must know of a stub.
func aboutStub(s record.Stub) []string {
	all := []string{fmt.Sprintf("%s is a stub (%s): how the system behaves with the real one is not shown", s.Name, s.File.Path)}
	calls, unknown := int64(0), int64(0)
	for _, e := range s.Endpoints {
		calls += e.Open
		for outcome, n := range e.Calls {
			if calls += n; outcome == metric.StubUnknown {
				unknown += n
			}
		}
	}
	switch {
	case calls == 0:
		all = append(all, fmt.Sprintf("the stub %s got no call: let the service call %s (the reference service: --gateway-url)", s.Name, s.URL))
	case unknown > 0:
		all = append(all, fmt.Sprintf("%d of %d calls to the stub %s match none of its endpoints, and were answered with 404", unknown, calls, s.Name))
	}
	return all
}
