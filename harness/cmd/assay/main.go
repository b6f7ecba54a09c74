package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/spf13/cobra"

	"assay/harness/load/k6"
	"assay/harness/run"
	"assay/harness/spec"
)

// Exit codes beside those of verdicts (DESIGN section 4).
const (
	exitError       = 2
	exitInterrupted = 130
)

func main() {
	// Invoked under the name k6, or as `assay k6`, this is k6: its arguments are
	// its own.
	if filepath.Base(os.Args[0]) == "k6" {
		k6.Main(os.Args[1:])
	}
	if len(os.Args) > 1 && os.Args[1] == "k6" {
		k6.Main(os.Args[2:])
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := execute(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
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
	case ctx.Err() != nil:
		fmt.Fprintln(stderr, "assay: interrupted")
		return exitInterrupted
	}
	fmt.Fprintf(stderr, "assay: %v\n", err)
	if hint := hintOf(err); hint != "" {
		fmt.Fprintf(stderr, "hint: %s\n", hint)
	}
	return exitError
}

// hintOf is the next step that an error suggests.
func hintOf(err error) string {
	var asked *spec.Error
	var running *run.Error
	var usage *usageError
	switch {
	case errors.As(err, &asked):
		return asked.Hint
	case errors.As(err, &running):
		return running.Hint
	case errors.As(err, &usage):
		return usage.hint
	}
	return ""
}

// usageError is a command line that cannot be carried out.
type usageError struct{ problem, hint string }

func (e *usageError) Error() string { return e.problem }

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "assay",
		Short: "Certify that a system sustains its target rate within its SLOs",
		Long: `Assay certifies, before a high-velocity event, that a system sustains its
target rate within its SLOs, and says why when it does not.

Exit codes: 0 PASS, 1 FAIL, 2 usage or operational error, 3 INVALID,
4 INCONCLUSIVE, 130 interrupted.`,
		SilenceUsage: true, SilenceErrors: true,
	}
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return &usageError{err.Error(), "see: " + c.CommandPath() + " --help"}
	})
	root.CompletionOptions.HiddenDefaultCmd = true
	root.AddCommand(newCertify(), newJudge(), newFrames(), newStack(), newTarget(), newK6())
	return root
}

// newK6 stands in the help alone: main hands `assay k6` over before this.
func newK6() *cobra.Command {
	return &cobra.Command{
		Use: "k6 ...", Short: "The embedded k6, with k6/x/sql",
		DisableFlagParsing: true,
		Run:                func(_ *cobra.Command, args []string) { k6.Main(args) },
	}
}
