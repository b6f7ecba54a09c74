package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"

	"assay.dev/assay/lab/bench/longrun"
)

const (
	// fleetRate is the load of each synthetic worker, transactions per second. Its
	// messages are then as large as those of a worker that makes 50 payments a second.
	fleetRate = 20.0
	// acceptedDelay is the longest delay that the rule "receiver" accepts.
	acceptedDelay = 5 * time.Second
)

// fleets are the sizes that are compared.
var fleets = []int{100, 1000}

// fleetOf is the shape of a run with a synthetic fleet.
func fleetOf(workers int, hold time.Duration) longrun.Shape {
	return longrun.Shape{Workers: workers, Hold: hold, Rate: fleetRate * float64(workers), Small: true, Remote: true}
}

// capacity measures what synthetic fleets cost the coordinator: with a message a second
// from each worker, and when they send as fast as they are acknowledged.
func (b *bench) capacity(ctx context.Context) error {
	took := map[bool][][]cost{false: make([][]cost, len(fleets)), true: make([][]cost, len(fleets))}
	for range b.rounds {
		for i, n := range fleets {
			for _, eager := range []bool{false, true} {
				c, err := b.fleetCost(ctx, fleetRun{n, eager, fleetMeasured})
				if err != nil {
					return fmt.Errorf("%d workers: %w", n, err)
				}
				took[eager][i] = append(took[eager][i], c)
			}
		}
	}
	one := took[false][0][0]
	fmt.Printf("coordinator on one core; of each synthetic worker %.1f frames of together %.1f KB, %.0f acknowledged transactions and a heartbeat a second:\n",
		ratio(one.counts.Frames, one.counts.Messages), ratio(one.counts.Bytes, one.counts.Messages)/1e3, ratio(one.counts.Entries, one.counts.Batches))
	for i, n := range fleets {
		inTime, fast := took[false][i], took[true][i]
		row := func(of []cost, what string, value func(cost) float64) {
			var values []float64
			for _, c := range of {
				values = append(values, value(c))
			}
			fmt.Printf("    %-42s %s\n", what, spread(values))
		}
		fmt.Printf("  %d workers, each second\n", n)
		row(inTime, "share of the core", cost.share)
		row(inTime, "share of the time that it waited for the core", cost.waited)
		row(inTime, "CPU, us per worker and second", cost.perMessage)
		row(inTime, "frames in the record, per second", cost.frameRate)
		row(inTime, "ms until acknowledged, p50", func(c cost) float64 { return c.delay(0.5) })
		row(inTime, "ms until acknowledged, p99", func(c cost) float64 { return c.delay(0.99) })
		row(inTime, "ms until acknowledged, longest", func(c cost) float64 { return c.delay(1) })
		row(inTime, "resident memory, MiB", func(c cost) float64 { return c.to.memory / (1 << 20) })
		row(inTime, "frames, B per worker and second", func(c cost) float64 { return c.frames })
		row(inTime, "ledger, B per worker and second", func(c cost) float64 { return c.ledger })
		fmt.Printf("  %d workers, as fast as acknowledged\n", n)
		row(fast, "frames in the record, per second", cost.frameRate)
		row(fast, "share of the core", cost.share)
		row(fast, "frames per second of CPU", func(c cost) float64 { return c.frameRate() / c.share() })
	}
	var ratios []float64
	for round, c := range took[false][len(fleets)-1] {
		ratios = append(ratios, c.perMessage()/took[false][0][round].perMessage())
	}
	fmt.Printf("  CPU per worker and second of %d workers, ratio to that of %d: %s\n", fleets[len(fleets)-1], fleets[0], spread(ratios))
	return b.capacityMemory(ctx)
}

// capacityMemory compares the coordinator's memory in the last minute of a longer run with
// that in the first.
func (b *bench) capacityMemory(ctx context.Context) error {
	n, minutes := fleets[len(fleets)-1], 4
	c, err := b.fleetCost(ctx, fleetRun{n, false, time.Duration(minutes) * time.Minute})
	if err != nil {
		return fmt.Errorf("%d workers: %w", n, err)
	}
	perMinute := len(c.memory) / minutes
	first, last := slices.Max(c.memory[:perMinute]), slices.Max(c.memory[len(c.memory)-perMinute:])
	fmt.Printf("  resident memory with %d workers: at most %.0f MiB in minute 1, ratio of minute %d to this %.3f\n", n, first/(1<<20), minutes, last/first)
	return nil
}

func ratio(a, b int64) float64 { return float64(a) / float64(b) }

// mostWorkers is the largest fleet to try: twice as many need more descriptors than a
// process has by default in most distributions.
const mostWorkers = 3200

// capacityLimit adds workers until the coordinator does not keep up.
func (b *bench) capacityLimit(ctx context.Context) error {
	fmt.Println("coordinator on one core, one message a second from each worker:")
	for n := fleets[0]; n <= mostWorkers; n *= 2 {
		c, err := b.fleetCost(ctx, fleetRun{n, false, fleetMeasured})
		if err != nil {
			return fmt.Errorf("%d workers: %w", n, err)
		}
		fmt.Printf("  %5d workers: share of the core %.2f (waited for it %.2f), senders' share %.2f, ms until acknowledged p50 %.0f, p99 %.0f, max %.0f, resident %.0f MiB, %d descriptors, joined and started in %.1f s, %d attempts repeated\n",
			n, c.share(), c.waited(), c.senders, c.delay(0.5), c.delay(0.99), c.delay(1), c.to.memory/(1<<20), c.to.files, c.start.Seconds(), c.counts.Repeated)
		if c.delay(0.99) > float64(acceptedDelay/time.Millisecond) {
			break
		}
	}
	return nil
}

// judgeFleets measures how long the records of fleets take to judge, and in how much
// memory.
func (b *bench) judgeFleets(ctx context.Context) error {
	const hold = 10 * time.Minute
	var dirs []string
	for i, n := range fleets {
		dir := b.path(fmt.Sprintf("fleet-%d", i))
		if err := b.startRecord(ctx, dir, fleetOf(n, hold)); err != nil {
			return fmt.Errorf("%d workers: %w", n, err)
		}
		dirs = append(dirs, dir)
	}
	took := make([][]commandCost, len(fleets))
	for range b.rounds {
		for i, dir := range dirs {
			j, err := b.judgeOnce(ctx, dir)
			if err != nil {
				return fmt.Errorf("%d workers: %w", fleets[i], err)
			}
			took[i] = append(took[i], j)
		}
	}
	for i, n := range fleets {
		fmt.Printf("assay judge of %s with %d workers:\n", hold, n)
		fmt.Printf("  CPU, ms per worker  %s\n", spread(of(took[i], func(c commandCost) float64 { return 1e3 * c.cpu / float64(n) })))
		fmt.Printf("  peak, MiB           %s\n", spread(of(took[i], func(c commandCost) float64 { return c.memory / (1 << 20) })))
	}
	return nil
}

const recordArg = "write-record"

// commandCost is what one command used in a process of its own.
type commandCost struct {
	wall, cpu float64 // s
	memory    float64 // peak, B
}

// writeRecord writes a record, in the process that startRecord starts.
func writeRecord() error {
	if len(os.Args) != 4 {
		return fmt.Errorf("%s takes a folder and a shape", recordArg)
	}
	var s longrun.Shape
	if err := json.Unmarshal([]byte(os.Args[3]), &s); err != nil {
		return fmt.Errorf("read shape: %w", err)
	}
	return s.Write(os.Args[2])
}

// startRecord writes a record in another process, to keep this one small: the peak memory
// of a child includes that of its parent at the time of the fork.
func (b *bench) startRecord(ctx context.Context, dir string, s longrun.Shape) error {
	shape, err := json.Marshal(s)
	if err != nil {
		return err
	}
	if out, err := exec.CommandContext(ctx, b.self, recordArg, dir, string(shape)).CombinedOutput(); err != nil {
		return fmt.Errorf("write record: %w: %s", err, strings.TrimSpace(string(out)))
	}
	return nil
}

// judgeOnce judges a record in another process.
func (b *bench) judgeOnce(ctx context.Context, dir string) (commandCost, error) {
	return b.measured(ctx, nil, verdicts, "judge", dir)
}

// measured is what a command of assay uses in a process of its own, with further variables
// of the environment. It fails on another exit code than 0 or those given.
func (b *bench) measured(ctx context.Context, env []string, exits []int, args ...string) (commandCost, error) {
	c := exec.CommandContext(ctx, b.assay, args...)
	c.Env = append(os.Environ(), env...)
	var stderr strings.Builder
	c.Stderr = &stderr
	start := time.Now()
	err := c.Run()
	wall := time.Since(start)
	var exit *exec.ExitError
	if err != nil && !(errors.As(err, &exit) && slices.Contains(exits, exit.ExitCode())) {
		return commandCost{}, fmt.Errorf("assay %s: %w: %s", args[0], err, strings.TrimSpace(stderr.String()))
	}
	used, ok := c.ProcessState.SysUsage().(*syscall.Rusage)
	if !ok {
		return commandCost{}, errors.New("no resource usage of the process")
	}
	cpu := c.ProcessState.UserTime() + c.ProcessState.SystemTime()
	return commandCost{wall.Seconds(), cpu.Seconds(), float64(used.Maxrss) * 1024}, nil
}

// verdicts are the exit codes of verdicts other than PASS.
var verdicts = []int{1, 3, 4}

func of[T any](all []T, value func(T) float64) (values []float64) {
	for _, one := range all {
		values = append(values, value(one))
	}
	return values
}
