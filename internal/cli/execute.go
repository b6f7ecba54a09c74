package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"assay.dev/assay/internal/crash"
)

// Exit codes in addition to those of verdicts.
const (
	ExitError       = 2
	ExitInterrupted = 130
)

// ExitCode is the nonzero exit code of a command that completed without an error.
type ExitCode int

func (e ExitCode) Error() string { return fmt.Sprintf("exit %d", int(e)) }

// ExitWith returns the code as an error; nil for 0.
func ExitWith(code int) error {
	if code == 0 {
		return nil
	}
	return ExitCode(code)
}

// carryOut runs the command. A panic of it is an error. One that only reads ends with ctx:
// nothing is to be undone, and what it reads may be large, slow or endless.
func carryOut(ctx context.Context, root *cobra.Command, args []string) error {
	done := make(chan error, 1)
	crash.Go(func() {
		done <- crash.Call(func() error { return root.ExecuteContext(ctx) })
	})
	c, _, err := root.Find(args)
	if err != nil || !OnlyReads(c) {
		return <-done
	}
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
	}
	select {
	case err := <-done:
		return err
	case <-time.After(time.Second):
		return ctx.Err()
	}
}

// onlyReads annotates commands that change nothing and start nothing, but for files that
// they write atomically.
const onlyReads = "reads"

// Reads are the annotations of such a command.
var Reads = map[string]string{onlyReads: "only"}

// lasting is an error that is told even where the command was interrupted: it says what is
// left to be done.
type lasting interface{ Lasting() bool }

// Execute runs one command line of a program and returns its exit code.
func Execute(ctx context.Context, root *cobra.Command, args []string, stdout, stderr io.Writer) int {
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := carryOut(ctx, root, args)
	var code ExitCode
	var ours *crash.Error
	var left lasting
	switch {
	case errors.As(context.Cause(ctx), &ours):
		PrintError(stderr, ours)
		if all := joined(err); len(all) > 1 { // those of the cleanup
			PrintError(stderr, errors.Join(all[1:]...))
		}
		return ExitError
	case err == nil:
		return 0
	case errors.As(err, &code):
		return int(code)
	case ctx.Err() != nil && !errors.As(err, &left):
		fmt.Fprintln(stderr, "assay: interrupted")
		if all := joined(err); len(all) > 1 { // those of the cleanup
			PrintError(stderr, errors.Join(all[1:]...))
		}
		return ExitInterrupted
	}
	PrintError(stderr, err)
	return ExitError
}

// OnlyReads reports whether a command has the annotation Reads.
func OnlyReads(c *cobra.Command) bool { return c.Annotations[onlyReads] != "" }
