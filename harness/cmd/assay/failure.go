package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"assay/harness/hint"
	"assay/harness/spec"
)

// maxErrors is how many errors of one file are printed: more would fill the screen,
// and usually have one cause.
const maxErrors = 20

// printError prints an error and its hint, a line each; the errors of one file each
// with their own hint.
func printError(w io.Writer, err error) {
	var all spec.Errors
	if !errors.As(err, &all) || len(all) == 1 {
		printLine(w, err.Error(), hint.Of(err))
		return
	}
	// Callers may have added text around the errors.
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

// cleanupErrors returns the errors joined after the first one, which are
// those of the cleanup.
func cleanupErrors(err error) []error {
	if _, ok := err.(spec.Errors); ok { //nolint:errorlint // the errors of one file, none of a cleanup
		return nil
	}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		return joined.Unwrap()[1:]
	}
	return nil
}
