// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"time"

	"github.com/spf13/cobra"

	"assay.dev/assay/internal/crash"
	"assay.dev/assay/internal/mask"
	"assay.dev/assay/internal/signature"
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

// Main runs a program whose command line is this process's, and does not return.
func Main(newRoot func() *cobra.Command) {
	stderr := Begin()
	os.Exit(Execute(Interruptible(stderr), newRoot(), os.Args[1:], os.Stdout, stderr))
}

// Begin keeps the secrets of this process's environment and arguments out of what it prints,
// and returns the standard error for that. It comes before anything is started.
func Begin() io.Writer {
	mask.Environment()
	mask.Arguments(os.Args[1:])
	signature.HideFromChildren()
	stderr := mask.Writer{To: &Unblocked{To: os.Stderr}}
	log.SetOutput(stderr) // log of libraries
	return stderr
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
		printCleanup(stderr, err)
		return ExitError
	case err == nil:
		return 0
	case errors.As(err, &code):
		return int(code)
	case ctx.Err() != nil && !errors.As(err, &left):
		fmt.Fprintln(stderr, "assay: interrupted")
		printCleanup(stderr, err)
		return ExitInterrupted
	}
	PrintError(stderr, err)
	return ExitError
}

// OnlyReads reports whether a command has the annotation Reads.
func OnlyReads(c *cobra.Command) bool { return c.Annotations[onlyReads] != "" }

// printCleanup prints the errors of a command that were joined to its own one.
func printCleanup(stderr io.Writer, err error) {
	if all := joined(err); len(all) > 1 {
		PrintError(stderr, errors.Join(all[1:]...))
	}
}
