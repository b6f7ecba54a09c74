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
func startRecord(ctx context.Context, dir string, s longrun.Shape) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	shape, err := json.Marshal(s)
	if err != nil {
		return err
	}
	if out, err := exec.CommandContext(ctx, self, recordArg, dir, string(shape)).CombinedOutput(); err != nil {
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
