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
func (o *Options) stubCollectors() (all []*stubs.Collector, err error) {
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

// stubFacts reads the ledgers of the stubs into the record, and returns what is known of each,
// and limitations.
func (d *drained) stubFacts(ctx context.Context) (facts []record.Stub, limitations []string) {
	for _, s := range d.stubs {
		fact, begun := s.Fact()
		if !begun {
			continue // its collector has failed, which is a limitation
		}
		limitations = append(limitations, aboutStub(fact)...)
		var err error
		switch {
		case ctx.Err() != nil:
			err = errors.New("the run was interrupted")
		case d.unwritten == nil:
			var of record.StubLedger
			err = d.in.writer.StubCalls(fact.Name, func(add func([]byte) error) (err error) {
				of, err = s.Ledger(ctx, add)
				return err
			})
			if err == nil {
				fact.Ledger = &of
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
