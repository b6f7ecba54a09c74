package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"assay.dev/assay/internal/judge/stats/effect"
)

// bench has the parameters of the measurements.
type bench struct {
	assay   string // the binary to measure
	self    string // this one
	dir     string // for temporary files
	rounds  int
	before  string    // another build, to compare the generator with; empty: none
	scripts string    // scripts of the generator's measurements, separated by commas
	workers string    // numbers of workers, separated by commas
	rates   []float64 // rates of the generator's measurements
	hold    time.Duration
	target  *target
}

func main() {
	do := measure
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case serveArg:
			do = serveTrivial
		case answerArg:
			do = serveAnswers
		case recordArg:
			do = writeRecord
		case coordinateArg:
			do = coordinate
		}
	}
	if err := do(); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func measure() (err error) {
	b := &bench{}
	flag.StringVar(&b.assay, "assay", "bin/assay", "binary to measure")
	flag.IntVar(&b.rounds, "rounds", 5, "interleaved rounds")
	only := flag.String("only", "judge-fleets,model,closed,worker,capacity", "parts to measure; capacity-limit and generator too")
	flag.StringVar(&b.before, "before", "", "another build: the CPU time of its generator is compared")
	flag.StringVar(&b.scripts, "scripts", "get.js,scenarios/ingestion.js", "scripts of the generator's measurement")
	flag.StringVar(&b.workers, "workers", "1,2", "numbers of workers of the generator's measurement")
	rates := flag.String("rates", "30000", "rates of the generator's measurement")
	flag.DurationVar(&b.hold, "hold", 30*time.Second, "hold of the generator's measurement")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	for _, text := range strings.Split(*rates, ",") {
		rate, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return fmt.Errorf("rates: %w", err)
		}
		b.rates = append(b.rates, rate)
	}
	for _, path := range []*string{&b.assay, &b.before} {
		if *path == "" {
			continue
		}
		if *path, err = filepath.Abs(*path); err != nil {
			return err
		}
	}
	if b.self, err = os.Executable(); err != nil {
		return err
	}
	if b.dir, err = os.MkdirTemp("", "assay-bench-"); err != nil {
		return err
	}
	defer func() { err = cmp.Or(err, os.RemoveAll(b.dir)) }()
	defer func() {
		if b.target != nil {
			_ = b.target.stop()
		}
	}()
	parts := strings.Split(*only, ",")
	for _, part := range []struct {
		name   string
		run    func(context.Context) error
		pinned bool
	}{
		{"judge-fleets", b.judgeFleets, false},
		{"model", b.modelCost, false},
		{"generator", b.generator, false},
		{"closed", b.closedLoop, true},
		{"worker", b.workerCost, true},
		{"capacity", b.capacity, true},
		{"capacity-limit", b.capacityLimit, true},
	} {
		if !slices.Contains(parts, part.name) {
			continue
		}
		if part.pinned {
			if err := b.pinned(ctx); err != nil {
				return err
			}
		}
		if err := part.run(ctx); err != nil {
			return fmt.Errorf("%s: %w", part.name, err)
		}
	}
	return nil
}

// pinned starts the target of the generator's measurements, and pins it and this process
// to one core. All later child processes are pinned too, so that measurements without
// pinning have to come first.
func (b *bench) pinned(ctx context.Context) (err error) {
	if b.target != nil {
		return nil
	}
	if b.target, err = b.startTarget(ctx); err != nil {
		return err
	}
	return b.writeFiles()
}

const script = `
import http from 'k6/http';
export default function () { http.get(__ENV.ASSAY_TARGET + '/', { tags: { name: 'get' } }); }
`

// writeFiles writes the script, and a wrapper that runs the binary under test on the
// generator's core.
func (b *bench) writeFiles() error {
	wrapper := fmt.Sprintf("#!/bin/sh\nexec taskset -c %d '%s' \"$@\"\n", generatorCPU, b.assay)
	return cmp.Or(
		os.WriteFile(b.path("script.js"), []byte(script), 0o644),
		os.WriteFile(b.path("generator"), []byte(wrapper), 0o755),
	)
}

func (b *bench) path(name string) string { return filepath.Join(b.dir, name) }

// spread formats values as median and range.
func spread(values []float64) string {
	v := slices.Sorted(slices.Values(values))
	if len(v) == 0 {
		return "no data"
	}
	return fmt.Sprintf("median %.3f, from %.3f to %.3f (%d rounds)", median(v), v[0], v[len(v)-1], len(v))
}

func median(sorted []float64) float64 {
	return (sorted[(len(sorted)-1)/2] + sorted[len(sorted)/2]) / 2
}

// interval formats ratios as their effect: median and interval, and the range.
func interval(ratios []float64) string {
	var pairs []effect.Pair
	for _, r := range ratios {
		pairs = append(pairs, effect.Pair{A: 1, B: r})
	}
	e, ok := effect.Paired(pairs)
	if !ok || e.Interval == nil {
		return spread(ratios)
	}
	return fmt.Sprintf("median %.3f, 95 %% interval %.3f to %.3f, from %.3f to %.3f (%d pairs)",
		e.Ratio, e.Interval.Lower, e.Interval.Upper, slices.Min(ratios), slices.Max(ratios), len(ratios))
}
