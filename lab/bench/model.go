package main

import (
	"bufio"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"assay.dev/assay/internal/project/model/accesslog"
	"assay.dev/assay/internal/testing/modeltest"
)

// modelLines is the number of lines of each log.
const modelLines = 1_000_000

// modelCost measures the time that `assay model` takes for a log of a million lines in each
// format, and how much less on all processors than on one.
func (b *bench) modelCost(ctx context.Context) error {
	logs := []struct {
		name       string
		format     accesslog.Format
		compressed bool
	}{
		{"combined", accesslog.Combined, false},
		{"json", accesslog.JSON, false},
		{"alb", accesslog.ALB, false},
		{"combined, gzip", accesslog.Combined, true},
	}
	paths := make([]string, len(logs))
	for i, l := range logs {
		paths[i] = b.path(fmt.Sprintf("access-%d.log", i))
		if err := writeLog(paths[i], l.format, l.compressed); err != nil {
			return err
		}
	}
	all, one := make([][]commandCost, len(logs)), make([][]commandCost, len(logs))
	for range b.rounds {
		for i, path := range paths {
			for into, env := range map[*[]commandCost][]string{&all[i]: nil, &one[i]: {"GOMAXPROCS=1"}} {
				took, err := b.measured(ctx, env, nil, "model", path, "--json")
				if err != nil {
					return fmt.Errorf("%s: %w", logs[i].name, err)
				}
				*into = append(*into, took)
			}
		}
	}
	fmt.Printf("assay model of %d lines:\n", modelLines)
	for i, l := range logs {
		var lines, ratios []float64
		for round, took := range all[i] {
			lines, ratios = append(lines, modelLines/took.wall/1e6), append(ratios, one[i][round].wall/took.wall)
		}
		fmt.Printf("  %s\n    million lines/s  %s\n    CPU, s           %s\n    peak, MiB        %s\n    one CPU / all    %s\n", l.name, spread(lines),
			spread(of(all[i], func(c commandCost) float64 { return c.cpu })), spread(of(all[i], func(c commandCost) float64 { return c.memory / (1 << 20) })), spread(ratios))
	}
	return nil
}

func writeLog(path string, format accesslog.Format, compressed bool) (err error) {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	w := bufio.NewWriterSize(f, 1<<20)
	to := io.Writer(w)
	if compressed {
		z := gzip.NewWriter(w)
		defer func() { err = errors.Join(err, z.Close(), w.Flush()) }()
		to = z
	} else {
		defer func() { err = errors.Join(err, w.Flush()) }()
	}
	_, err = modeltest.MatchDay(1).Write(to, format)
	return err
}
