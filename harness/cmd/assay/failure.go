package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"assay/harness/hint"
	"assay/harness/spec"
)

// maxErrors is how many errors of one file are printed: more fill the screen, and
// usually have one cause.
const maxErrors = 20

// printError prints an error and its hint, a line each; for a file with several
// errors, each with its own hint.
func printError(w io.Writer, err error) {
	var all spec.Errors
	if !errors.As(err, &all) || len(all) == 1 {
		printLine(w, err.Error(), hint.Of(err))
		return
	}
	// Text that callers have added around the errors is printed too.
	before, after, _ := strings.Cut(err.Error(), all.Error())
	for _, e := range all[:min(len(all), maxErrors)] {
		printLine(w, before+e.Error(), e.Hint())
	}
	if more := len(all) - maxErrors; more > 0 {
		printLine(w, fmt.Sprintf("%sthere are %d more errors", before, more), "")
	}
	for line := range strings.Lines(after) {
		if line = strings.TrimSpace(line); line != "" {
			printLine(w, line, "")
		}
	}
}

func printLine(w io.Writer, problem, next string) {
	fmt.Fprintf(w, "assay: %s\n", problem)
	if next != "" {
		fmt.Fprintf(w, "hint: %s\n", next)
	}
}

// cleanupErrors are the errors joined to the first one: those of the cleanup that
// it made necessary.
func cleanupErrors(err error) []error {
	if _, ok := err.(spec.Errors); ok { //nolint:errorlint // errors of one file, none of a cleanup
		return nil
	}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		return joined.Unwrap()[1:]
	}
	return nil
}
