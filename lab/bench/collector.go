package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"assay.dev/assay/internal/observe/collect/mysql"
	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/observe/record"
)

const (
	// A slice is short: other load on the machine changes over seconds, and should
	// affect both slices of a pair.
	collectorSlice  = 2 * time.Second
	collectorWarmup = 300 * time.Millisecond // the collector's start and first sample are not measured
	// collectorPairs is the number of pairs per round: a single pair varies too much.
	collectorPairs = 15

	readOnlyUser = "read_only"
)

// Variants of the collector. The last two separate its cost: instruments on without
// sampling, and sampling with the default instruments.
const (
	collectorOff         = "off"
	collectorOn          = "collector"
	collectorInstruments = "instruments only"
	collectorSampling    = "sampling only"
)

// collectorCost compares the commits per second of a server with durable commits,
// saturated by many sessions, with the collector on and off, in pairs of alternating
// order.
func (b *bench) collectorCost(ctx context.Context) error {
	return b.onEachServer(ctx, []string{collectorOn})
}

// collectorParts measures the parts of that cost.
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
	defer func() { err = cmp.Or(err, d.stop()) }()
	readOnly, err := d.readOnlyUser(ctx)
	if err != nil {
		return err
	}
	fmt.Printf("%s, %d sessions of single-row updates, ratios to the same without collector:\n", d.server.Binary(), loadSessions)
	type ratios struct{ commits, cpu, samples []float64 }
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
				if did[v], err = d.slice(ctx, v, readOnly); err != nil {
					return fmt.Errorf("%s: %w", v, err)
				}
			}
			if all[variant] == nil {
				all[variant] = &ratios{}
			}
			rates = append(rates, did[collectorOff].rate)
			all[variant].commits = append(all[variant].commits, did[variant].rate/did[collectorOff].rate)
			all[variant].samples = append(all[variant].samples, did[variant].samples)
			all[variant].cpu = append(all[variant].cpu, did[variant].cpu/did[collectorOff].cpu)
		}
	}
	fmt.Printf("  %-18s commits per second %s\n", collectorOff, spread(rates))
	for _, v := range variants {
		fmt.Printf("  %-18s commits %s\n", v, interval(all[v].commits))
		fmt.Printf("  %-18s CPU per commit, server and collector, %s\n", "", interval(all[v].cpu))
		if v != collectorInstruments {
			// A collector that is starved of CPU takes fewer samples, and so costs less.
			fmt.Printf("  %-18s samples per second %s\n", "", spread(all[v].samples))
		}
	}
	return nil
}

// readOnlyUser creates a user that may read performance_schema, but not change it.
func (d *database) readOnlyUser(ctx context.Context) (dsn string, err error) {
	password := rand.Text()
	for _, statement := range []string{
		"CREATE USER '" + readOnlyUser + "'@'127.0.0.1' IDENTIFIED BY '" + password + "'",
		"GRANT PROCESS ON *.* TO '" + readOnlyUser + "'@'127.0.0.1'",
		"GRANT SELECT ON performance_schema.* TO '" + readOnlyUser + "'@'127.0.0.1'",
		"GRANT SELECT ON " + loadSchema + ".* TO '" + readOnlyUser + "'@'127.0.0.1'",
	} {
		if _, err := d.db.ExecContext(ctx, statement); err != nil {
			return "", fmt.Errorf("make user %s: %w", readOnlyUser, err)
		}
	}
	return d.dsn(readOnlyUser, password)
}

// slice is the result of one slice.
type slice struct {
	rate float64 // commits per second
	cpu  float64 // s per commit, of the server and this process

	samples float64 // per second; 0: none taken
}

// slice measures one variant.
func (d *database) slice(ctx context.Context, variant, readOnly string) (s slice, err error) {
	stop, err := d.collect(ctx, variant, readOnly)
	if err != nil {
		return slice{}, err
	}
	defer func() {
		var stopped error
		s.samples, stopped = stop()
		err = cmp.Or(err, stopped)
	}()
	if err := pause(ctx, collectorWarmup); err != nil {
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
		return slice{}, errors.New("the load makes no commits")
	}
	s.rate = commits / to.at.Sub(from.at).Seconds()
	s.cpu = (to.cpu - from.cpu + to.own - from.own) / commits
	return s, nil
}

// collect starts the variant's part of the collector. stop ends it, and returns the
// samples per second.
func (d *database) collect(ctx context.Context, variant, readOnly string) (stop func() (samples float64, err error), err error) {
	if variant == collectorOff {
		return func() (float64, error) { return 0, nil }, nil
	}
	dsn, err := d.dsn("", "")
	if err != nil {
		return nil, err
	}
	if variant == collectorSampling {
		dsn = readOnly
	}
	c := mysql.New(dsn)
	if err := c.Start(ctx); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	if variant == collectorInstruments {
		return func() (float64, error) { return 0, c.Close() }, nil
	}
	sink, seen := receiveInMemory()
	running, cancel := context.WithCancel(ctx)
	ended, start := make(chan error, 1), time.Now()
	go func() { ended <- c.Run(running, sink.Take) }()
	return func() (float64, error) {
		took := time.Since(start)
		cancel()
		err := errors.Join(<-ended, c.Close())
		samples, _ := seen.Sum(metric.DBSample, nil, record.All)
		return samples / took.Seconds(), err
	}, nil
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
