package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// bench is one session of measurements.
type bench struct {
	assay  string // the binary under test
	dir    string // scratch
	rounds int
	target *target
}

func main() {
	if len(os.Args) > 1 && os.Args[1] == serveArg {
		if err := serveTrivial(); err != nil {
			fmt.Fprintln(os.Stderr, "bench:", err)
			os.Exit(1)
		}
		return
	}
	if err := measure(); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func measure() (err error) {
	assay := flag.String("assay", "bin/assay", "binary to measure")
	rounds := flag.Int("rounds", 5, "interleaved rounds")
	only := flag.String("only", "closed,open,memory", "parts to measure")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	b := &bench{rounds: *rounds}
	if b.assay, err = filepath.Abs(*assay); err != nil {
		return err
	}
	if b.dir, err = os.MkdirTemp("", "assay-bench-"); err != nil {
		return err
	}
	defer func() { err = firstError(err, os.RemoveAll(b.dir)) }()
	if b.target, err = startTarget(ctx); err != nil {
		return err
	}
	defer b.target.stop()
	if err := b.writeFiles(); err != nil {
		return err
	}
	parts := strings.Split(*only, ",")
	for _, part := range []struct {
		name string
		run  func(context.Context) error
	}{{"closed", b.closedLoop}, {"open", b.openModel}, {"memory", b.memory}} {
		if slices.Contains(parts, part.name) {
			if err := part.run(ctx); err != nil {
				return fmt.Errorf("%s: %w", part.name, err)
			}
		}
	}
	return nil
}

func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

const script = `
import http from 'k6/http';
export default function () { http.get(__ENV.ASSAY_TARGET + '/', { tags: { name: 'get' } }); }
`

// writeFiles writes the script, and the generator's name: the binary under
// test, on the generator's core.
func (b *bench) writeFiles() error {
	wrapper := fmt.Sprintf("#!/bin/sh\nexec taskset -c %d '%s' \"$@\"\n", generatorCPU, b.assay)
	return firstError(
		os.WriteFile(b.path("script.js"), []byte(script), 0o644),
		os.WriteFile(b.path("generator"), []byte(wrapper), 0o755),
	)
}

func (b *bench) path(name string) string { return filepath.Join(b.dir, name) }

// spread prints a row of values as median and range.
func spread(values []float64) string {
	v := slices.Sorted(slices.Values(values))
	if len(v) == 0 {
		return "no data"
	}
	return fmt.Sprintf("median %.3f, from %.3f to %.3f (%d rounds)", median(v), v[0], v[len(v)-1], len(v))
}

func median(sorted []float64) float64 {
	n := len(sorted)
	if n%2 == 1 {
		return sorted[n/2]
	}
	return (sorted[n/2-1] + sorted[n/2]) / 2
}
