// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"assay.dev/assay/internal/hint"
	"assay.dev/assay/internal/judge/page"
	"assay.dev/assay/internal/spec"
)

// maxErrors is how many errors of one file are printed: more would fill the screen,
// and usually have one cause.
const maxErrors = 20

// PrintError prints an error and its hint, a line each; errors that are joined, and those of
// one file, each with their own hint.
func PrintError(w io.Writer, err error) {
	if all := joined(err); len(all) > 0 {
		for _, e := range all {
			PrintError(w, e)
		}
		return
	}
	var all spec.Errors
	if !errors.As(err, &all) || len(all) == 1 {
		PrintLine(w, err.Error(), hint.Of(err))
		return
	}
	// Callers may have added text before the errors.
	before, _, _ := strings.Cut(err.Error(), all.Error())
	for _, e := range all[:min(len(all), maxErrors)] {
		PrintLine(w, before+e.Error(), e.Hint())
	}
	if more := len(all) - maxErrors; more > 0 {
		PrintLine(w, fmt.Sprintf("%sthere are %d more errors", before, more), "")
	}
}

// PrintLine prints what may contain text of files, servers and scripts.
func PrintLine(w io.Writer, problem, next string) {
	fmt.Fprintf(w, "assay: %s\n", page.Message(problem))
	if next != "" {
		fmt.Fprintf(w, "hint: %s\n", page.Message(next))
	}
}

// Messages prints lines that may contain such text, each written at once.
type Messages struct{ To io.Writer }

func (m Messages) Write(line []byte) (int, error) {
	_, err := fmt.Fprintln(m.To, page.Message(string(line)))
	return len(line), err
}

// joined are the errors that errors.Join has joined: the first one, and those of the
// cleanup; nil: err is one error.
func joined(err error) []error {
	if _, ok := err.(spec.Errors); ok { //nolint:errorlint // the errors of one file, none of a cleanup
		return nil
	}
	// An error of fmt.Errorf, which may wrap several errors too, is one line of text.
	several, ok := err.(interface{ Unwrap() []error }) // as it was returned
	if !ok || err.Error() != errors.Join(several.Unwrap()...).Error() {
		return nil
	}
	return several.Unwrap()
}
