package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"assay/harness/hint"
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
		tellOne(w, err.Error(), hint.Of(err))
		return
	}
	// What others have put around them stays, before the first and after the last.
	before, after, _ := strings.Cut(err.Error(), all.Error())
	for _, e := range all[:min(len(all), maxTold)] {
		tellOne(w, before+e.Error(), e.Hint())
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

func tellOne(w io.Writer, problem, next string) {
	fmt.Fprintf(w, "assay: %s\n", problem)
	if next != "" {
		fmt.Fprintf(w, "hint: %s\n", next)
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
