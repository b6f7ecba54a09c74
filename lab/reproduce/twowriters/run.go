package twowriters

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"assay.dev/assay/certificate"
	certificates "assay.dev/assay/internal/judge/certificate/report"
	"assay.dev/assay/internal/judge/page"
	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/observe/record"
	"assay.dev/assay/internal/spec"
	"assay.dev/assay/internal/trial"
	"assay.dev/assay/lab/reproduce"
	"assay.dev/assay/lab/scale"
	"assay.dev/assay/lab/tpcc"
)

// Profiles of the certified parts.
const (
	profileScale       = "tpcc-two-writers"
	profileStaleReads  = "stale-reads"
	profileConnections = "connections-proxy"
	profileDirect      = "failover-sql-direct"
	profileProxied     = "failover-sql"
)

// schemas of TPC-C, one for each writer.
var schemas = []string{"tpcc_a", "tpcc_b"}

// Document is the result.
type Document struct {
	Scale        *scale.Document           // nil: not measured
	Certificates []certificate.Certificate // certificates of the parts, in the order of the page
	Problems     []string                  // parts that could not be measured, and why
}

// Run measures all parts. A part that cannot be measured is stated, and the others go on;
// once ctx is done it ends.
func Run(ctx context.Context, o reproduce.Options) (Document, error) {
	var d Document
	if err := load(ctx, o); err != nil {
		return d, err
	}
	failed := func(part string, err error) {
		d.Problems = append(d.Problems, fmt.Sprintf("%s: %v", part, err))
		o.Console.Say("reproduce: %s: %v", part, err)
	}
	curves, err := measureScale(ctx, o)
	if len(curves.Steps) > 0 {
		d.Scale = &curves
	}
	if err != nil && ctx.Err() == nil {
		failed("scaling", err)
	}
	for _, name := range []string{profileStaleReads, profileConnections, profileDirect, profileProxied} {
		if ctx.Err() != nil {
			return d, context.Cause(ctx)
		}
		c, err := o.Certify(ctx, name, func(p *spec.Profile) { shorten(p, o.Quick) })
		switch {
		case ctx.Err() != nil:
			return d, context.Cause(ctx)
		case err != nil:
			failed(name, err)
		default:
			d.Certificates = append(d.Certificates, c)
		}
	}
	return d, nil
}

// Lost reports whether transactions were lost or duplicated, or an invariant violated.
func (d Document) Lost() bool {
	for _, c := range d.Certificates {
		if l := c.Ledger; l != nil && l.Missing+l.Duplicated > 0 {
			return true
		}
	}
	return d.Scale != nil && len(d.Scale.Losses) > 0
}

// shorten makes a quick run of a profile.
func shorten(p *spec.Profile, quick bool) {
	if !quick {
		return
	}
	l := &p.Flows[0].Load
	l.Warmup, l.Baseline.For, l.Ramp, l.Hold = 2*time.Second, 2*time.Second, time.Second, 15*time.Second
	if len(p.Faults) > 0 {
		limit, _ := p.Limit(metric.RecoveryTime)
		f := &p.Faults[0]
		f.At, f.For = 3*time.Second, 8*time.Second
		l.Hold = f.At + f.For + limit + spec.Settled
	}
}

// load fills the schemas of both writers, unless they are.
func load(ctx context.Context, o reproduce.Options) error {
	s := tpcc.Scale{Warehouses: 4, Items: tpcc.FullItems / 10, Customers: tpcc.FullCustomers / 10, Seed: 1}
	if o.Quick {
		s = tpcc.Scale{Warehouses: 2, Items: 500, Customers: 30, Seed: 1}
	}
	db, err := tpcc.Open(o.Shared.DSN)
	if err != nil {
		return err
	}
	defer db.Close()
	for _, schema := range schemas {
		if is, complete, err := tpcc.Loaded(ctx, db, schema); err == nil && complete && is == s {
			continue
		}
		o.Console.Say("reproduce: loading %d warehouses into schema %s (%d items, %d customers a district)", s.Warehouses, schema, s.Items, s.Customers)
		if err := tpcc.Load(ctx, db, schema, s, func(int64) {}); err != nil {
			return fmt.Errorf("load schema %s: %w", schema, err)
		}
	}
	return nil
}

// measureScale measures one writer, and both with separate schemas and with the same.
func measureScale(ctx context.Context, o reproduce.Options) (scale.Document, error) {
	p, err := o.Shared.File.Profile(profileScale)
	if err != nil {
		return scale.Document{}, err
	}
	targets := func(text string) map[string]string {
		return map[string]string{"TPCC_TARGETS": text, "TPCC_SPREAD": "vu"}
	}
	threads, rounds, measured := []int{2, 8, 32, 128}, 6, 8*time.Second
	if o.Quick {
		threads, rounds, measured = []int{2, 8}, 1, 3*time.Second
	}
	s := &scale.Steps{
		Parameters: scale.Parameters{
			ID: "scale-" + trial.NewID(p.Name), Profile: p.Name, Rounds: rounds, Seconds: measured.Seconds(), Seed: o.Seed,
			Target: o.Shared.Target,
			Variants: []scale.Variant{
				{Name: "one writer", Env: targets("a/tpcc_a")},
				{Name: "both writers, separate schemas", Env: targets("a/tpcc_a b/tpcc_b")},
				{Name: "both writers, same schema", Env: targets("a/tpcc_a b/tpcc_a")},
			},
		},
		Profile: p, Warmup: 2 * time.Second, Measured: measured, Options: o.Shared, Console: o.Console, Dir: filepath.Join(o.Dir, "scale"),
	}
	for _, n := range threads {
		s.Parameters.Points = append(s.Parameters.Points, scale.Point{Threads: n})
	}
	if err := errors.Join(record.CheckEmpty(s.Dir), s.Check(ctx)); err != nil {
		return scale.Document{}, err
	}
	return s.Run(ctx)
}

// Page is the page of the measurement.
func Page(d Document) page.Page {
	p := page.Page{Title: "Two writers: scaling, stale reads, connections, failover"}
	if len(d.Problems) > 0 {
		p.Blocks = append(p.Blocks, page.Under("Not measured", page.List{Items: d.Problems}))
	}
	if d.Scale != nil {
		p.Blocks = append(p.Blocks, page.Under("Scaling (TPC-C-like, unaudited)", scale.Page(*d.Scale).Blocks...))
	}
	for _, c := range d.Certificates {
		p.Blocks = append(p.Blocks, part(c))
	}
	return p
}

// part is the section of one certified profile.
func part(c certificate.Certificate) page.Block {
	switch c.Profile {
	case profileStaleReads:
		return page.Under(
			"Stale reads: written on a, read on b", reproduce.SLOTable(c, "stale_reads"),
			reproduce.LatencyTable(c, "visible_after", "write_time", "read_time"), reproduce.Verdict(c),
		)
	case profileConnections:
		return page.Under("Connections: open, first query, close", reproduce.LatencyTable(c, "connection_"), reproduce.Verdict(c))
	case profileDirect:
		return page.Under("Failover, directly: a is killed, and comes back", certificates.Faults(c), reproduce.Verdict(c))
	case profileProxied:
		return page.Under("Failover, through HAProxy: a is killed, and comes back", certificates.Faults(c), reproduce.Verdict(c))
	}
	return page.Under(c.Profile, reproduce.Verdict(c))
}
