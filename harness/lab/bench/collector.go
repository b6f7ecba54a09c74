package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"assay/harness/observe/collect/mysql"
	"assay/harness/observe/collect/receiver"
	"assay/harness/observe/ledger"
	"assay/harness/observe/metric"
	"assay/harness/observe/record"
)

const (
	// A slice is as short as the start and stop of a collector allow: what else
	// the machine does changes over seconds, and falls on both sides of a pair.
	collectorSlice  = 2 * time.Second
	collectorSettle = 300 * time.Millisecond // the first frame, which reads all statements, is part of the start
	// collectorPairs for each round asked for: one pair says little.
	collectorPairs = 15

	blindUser = "blind"
)

// Variants of the collector. The last two take its cost apart: instruments
// switched on and nobody looking, and looking at what is on by default.
const (
	collectorOff         = "off"
	collectorOn          = "collector"
	collectorInstruments = "instruments alone"
	collectorSampling    = "sampling alone"
)

// collectorCost compares the commits a second of a server whose commits are
// durable, under as many sessions as it has use for, with the collector on and
// off, in pairs whose order alternates.
func (b *bench) collectorCost(ctx context.Context) error {
	return b.onEachServer(ctx, []string{collectorOn})
}

// collectorParts does it for the parts of that cost.
func (b *bench) collectorParts(ctx context.Context) error {
	return b.onEachServer(ctx, []string{collectorInstruments, collectorSampling})
}

func (b *bench) onEachServer(ctx context.Context, variants []string) error {
	for _, program := range []string{b.mysqld, b.mariadbd} {
		if program == "" {
			return errors.New("no server to measure: name them with -mysqld and -mariadbd")
		}
		if err := b.pairs(ctx, program, variants); err != nil {
			return err
		}
	}
	return nil
}

func (b *bench) pairs(ctx context.Context, program string, variants []string) (err error) {
	d, err := startDatabase(ctx, b.dir, program)
	if err != nil {
		return err
	}
	defer func() { err = firstError(err, d.stop()) }()
	blind, err := d.blind(ctx)
	if err != nil {
		return err
	}
	fmt.Printf("%s, %d sessions of single-row updates, ratios to the same without collector:\n", d.server.Binary(), loadSessions)
	type ratios struct{ commits, cpu []float64 }
	all := map[string]*ratios{}
	var rates []float64
	for i := range collectorPairs * b.rounds {
		for _, variant := range variants {
			order := []string{collectorOff, variant}
			if i%2 == 1 {
				order = []string{variant, collectorOff}
			}
			did := map[string]slice{}
			for _, v := range order {
				if did[v], err = d.slice(ctx, v, blind); err != nil {
					return fmt.Errorf("%s: %w", v, err)
				}
			}
			if all[variant] == nil {
				all[variant] = &ratios{}
			}
			rates = append(rates, did[collectorOff].rate)
			all[variant].commits = append(all[variant].commits, did[variant].rate/did[collectorOff].rate)
			all[variant].cpu = append(all[variant].cpu, did[variant].cpu/did[collectorOff].cpu)
		}
	}
	fmt.Printf("  %-18s commits a second %s\n", collectorOff, spread(rates))
	for _, v := range variants {
		fmt.Printf("  %-18s commits %s\n", v, interval(all[v].commits))
		fmt.Printf("  %-18s CPU a commit, server and collector, %s\n", "", interval(all[v].cpu))
	}
	return nil
}

// blind makes a user who may read performance_schema, but switch nothing on.
func (d *database) blind(ctx context.Context) (dsn string, err error) {
	password := rand.Text()
	for _, statement := range []string{
		"CREATE USER '" + blindUser + "'@'127.0.0.1' IDENTIFIED BY '" + password + "'",
		"GRANT PROCESS ON *.* TO '" + blindUser + "'@'127.0.0.1'",
		"GRANT SELECT ON performance_schema.* TO '" + blindUser + "'@'127.0.0.1'",
		"GRANT SELECT ON " + loadSchema + ".* TO '" + blindUser + "'@'127.0.0.1'",
	} {
		if _, err := d.db.ExecContext(ctx, statement); err != nil {
			return "", fmt.Errorf("make user %s: %w", blindUser, err)
		}
	}
	return d.dsn(blindUser, password)
}

// slice is what the server did in one.
type slice struct {
	rate float64 // commits a second
	cpu  float64 // s a commit
}

// slice measures one variant.
func (d *database) slice(ctx context.Context, variant, blind string) (s slice, err error) {
	dsn, err := d.dsn("", "")
	if err != nil {
		return slice{}, err
	}
	if variant == collectorSampling {
		dsn = blind
	}
	if variant != collectorOff {
		c := mysql.New(dsn, mysql.Options{})
		defer func() { err = firstError(err, c.Close()) }()
		if err := c.Start(ctx); err != nil {
			return slice{}, err
		}
		if variant != collectorInstruments {
			seen := record.NewTimeline()
			sink := receiver.New(receiver.Sinks{
				Frame:        func(f metric.Frame) error { seen.Add(f); return nil },
				Acknowledged: func(string, []ledger.Entry) error { return nil },
			}, slog.Default())
			running, cancel := context.WithCancel(ctx)
			ended, began := make(chan error, 1), time.Now()
			go func() { ended <- c.Run(running, sink.Take) }()
			defer func() {
				cancel()
				err = firstError(err, <-ended, enough(seen, time.Since(began)))
			}()
		}
	}
	if err := pause(ctx, collectorSettle); err != nil {
		return slice{}, err
	}
	from, err := d.read(ctx)
	if err != nil {
		return slice{}, err
	}
	if err := pause(ctx, collectorSlice); err != nil {
		return slice{}, err
	}
	to, err := d.read(ctx)
	if err != nil {
		return slice{}, err
	}
	commits := to.commits - from.commits
	if commits <= 0 {
		return slice{}, errors.New("the load commits nothing")
	}
	return slice{rate: commits / to.at.Sub(from.at).Seconds(), cpu: (to.cpu - from.cpu + to.own - from.own) / commits}, nil
}

// enough makes sure that the collector did what its cost is asked of: ten
// samples a second.
func enough(seen *record.Timeline, took time.Duration) error {
	samples, _ := seen.Sum(metric.DBSample, nil, record.All)
	if due := 10 * took.Seconds(); samples < 0.9*due {
		return fmt.Errorf("the collector took %.0f of %.0f samples", samples, due)
	}
	return nil
}

// pause sleeps unless ctx is done first.
func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}
