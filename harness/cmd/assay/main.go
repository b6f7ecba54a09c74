package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"

	"assay/harness/judge/certificate/signature"
	"assay/harness/lab/stack"
	"assay/harness/lab/stack/process"
	"assay/harness/load/k6"
	"assay/harness/observe/influx"
	"assay/harness/observe/record"
	"assay/harness/run"
	"assay/harness/spec"
)

// Exit codes beside those of verdicts (DESIGN section 4).
const (
	exitError       = 2
	exitInterrupted = 130
)

func main() {
	signingKeyValue() // out of the environment, before anything is started or handed over
	// Invoked under the name k6, or as `assay k6`, this is k6: its arguments are
	// its own.
	if filepath.Base(os.Args[0]) == "k6" {
		k6.Main(os.Args[1:])
	}
	if len(os.Args) > 1 && os.Args[1] == "k6" {
		k6.Main(os.Args[2:])
	}
	os.Exit(execute(interruptible(os.Stderr), os.Args[1:], os.Stdout, os.Stderr))
}

// exitCode is how a command that did its work ends the process when that is not
// with 0.
type exitCode int

func (e exitCode) Error() string { return fmt.Sprintf("exit %d", int(e)) }

// execute runs one command line and returns its exit code.
func execute(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	root := newRoot()
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	var code exitCode
	switch {
	case err == nil:
		return 0
	case errors.As(err, &code):
		return int(code)
	case ctx.Err() != nil && !changedStill(err):
		fmt.Fprintln(stderr, "assay: interrupted")
		for _, e := range aftermath(err) {
			fmt.Fprintf(stderr, "assay: %v\n", e)
		}
		return exitInterrupted
	}
	fmt.Fprintf(stderr, "assay: %v\n", err)
	if hint := hintOf(err); hint != "" {
		fmt.Fprintf(stderr, "hint: %s\n", hint)
	}
	return exitError
}

// aftermath are the errors of cleaning up that were joined to the one that made
// it necessary.
func aftermath(err error) []error {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		return joined.Unwrap()[1:]
	}
	return nil
}

// hintOf is the next step that an error suggests.
func hintOf(err error) string {
	var asked *spec.Error
	var running *run.Error
	var usage *usageError
	var shown *influx.Error
	var signed *signature.Error
	var suggests interface{ Hint() string }
	switch {
	case errors.As(err, &suggests):
		return suggests.Hint()
	case errors.As(err, &asked):
		return asked.Hint
	case errors.As(err, &running):
		return running.Hint
	case errors.As(err, &usage):
		return usage.hint
	case errors.As(err, &shown):
		return shown.Hint
	case errors.As(err, &signed):
		return signed.Hint
	case errors.Is(err, process.ErrPortTaken):
		return "stop what listens there (the stack of another folder?), or choose others: assay stack up --db-port N --target-port M --influx-port K"
	case errors.Is(err, stack.ErrOccupied):
		return "wait until it has ended, or give this run a service of its own with --target"
	case errors.Is(err, syscall.EADDRINUSE):
		return "stop what listens there, or choose another port"
	case errors.Is(err, record.ErrNoRun):
		return "name the folder of a run, like: assay judge runs/latest"
	case errors.Is(err, record.ErrChanged):
		return "go back to the record as it was sealed, or certify again"
	case errors.Is(err, record.ErrNotSealed):
		return "certify again: what did not come to its end is no evidence"
	}
	return ""
}
