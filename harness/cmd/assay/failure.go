package main

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"syscall"

	"assay/harness/lab/stack"
	"assay/harness/observe/influx"
	"assay/harness/observe/record"
	"assay/harness/run"
	"assay/harness/servers/process"
	"assay/harness/spec"
)

// maxTold is how many errors of one file are told: more fill a screen, and
// most often have a cause in common.
const maxTold = 20

// tell prints an error and its next step, each on a line; of a file with several
// errors, each with its own.
func tell(w io.Writer, err error) {
	var all spec.Errors
	if !errors.As(err, &all) || len(all) == 1 {
		tellOne(w, err.Error(), hintOf(err))
		return
	}
	// What others have put around them stays, before the first and after the last.
	before, after, _ := strings.Cut(err.Error(), all.Error())
	for _, e := range all[:min(len(all), maxTold)] {
		tellOne(w, before+e.Error(), e.Hint)
	}
	if more := len(all) - maxTold; more > 0 {
		tellOne(w, fmt.Sprintf("%sthere are %d more errors", before, more), "")
	}
	for line := range strings.Lines(after) {
		if line = strings.TrimSpace(line); line != "" {
			tellOne(w, line, "")
		}
	}
}

func tellOne(w io.Writer, problem, hint string) {
	fmt.Fprintf(w, "assay: %s\n", problem)
	if hint != "" {
		fmt.Fprintf(w, "hint: %s\n", hint)
	}
}

// aftermath are the errors of cleaning up that were joined to the one that made
// it necessary.
func aftermath(err error) []error {
	if _, ok := err.(spec.Errors); ok { //nolint:errorlint // one file's, not joined to another
		return nil
	}
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
