package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"assay.dev/assay/internal/crash"
	"assay.dev/assay/internal/judge/certificate/signature"
	"assay.dev/assay/internal/load/k6"
	"assay.dev/assay/internal/mask"
	"assay.dev/assay/internal/series/experiment/change"
	"assay.dev/assay/internal/trial/incluster"
	"assay.dev/assay/internal/wire"
)

// Exit codes in addition to those of verdicts (DESIGN section 4).
const (
	exitError       = 2
	exitInterrupted = 130
)

func main() {
	mask.Environment()
	mask.Arguments(os.Args[1:])
	signature.HideFromChildren() // before anything is started
	stderr := mask.Writer{To: &unblocked{to: os.Stderr}}
	log.SetOutput(stderr) // of libraries
	// Invoked under the name k6, or as `assay k6`, this is k6, with k6's arguments.
	if filepath.Base(os.Args[0]) == "k6" {
		if isRunner(os.Args[1:]) {
			os.Exit(execute(interruptible(stderr), []string{"worker", "--join", os.Getenv(wire.EnvJoin), "--dir", os.TempDir(), "--status", statusAddress(os.Args[1:])}, os.Stdout, stderr))
		}
		k6.Main(os.Args[1:])
	}
	if len(os.Args) > 1 && os.Args[1] == "k6" {
		k6.Main(os.Args[2:])
	}
	os.Exit(execute(interruptible(stderr), os.Args[1:], os.Stdout, stderr))
}

// exitCode is the nonzero exit code of a command that completed without an error.
type exitCode int

func (e exitCode) Error() string { return fmt.Sprintf("exit %d", int(e)) }

// exitWith returns the code as an error; nil for 0.
func exitWith(code int) error {
	if code == 0 {
		return nil
	}
	return exitCode(code)
}

// carryOut runs the command. A panic of it is an error. One that only reads ends with ctx:
// nothing is to be undone, and what it reads may be large, slow or endless.
func carryOut(ctx context.Context, root *cobra.Command, args []string) error {
	done := make(chan error, 1)
	crash.Go(func() {
		done <- crash.Call(func() error { return root.ExecuteContext(ctx) })
	})
	c, _, err := root.Find(args)
	if err != nil || c.Annotations[onlyReads] == "" {
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

// reads are the annotations of such a command.
var reads = map[string]string{onlyReads: "only"}

// execute runs one command line and returns its exit code.
func execute(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	root := newRoot()
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := carryOut(ctx, root, args)
	var code exitCode
	var ours *crash.Error
	switch {
	case errors.As(context.Cause(ctx), &ours):
		printError(stderr, ours)
		if all := joined(err); len(all) > 1 { // those of the cleanup
			printError(stderr, errors.Join(all[1:]...))
		}
		return exitError
	case err == nil:
		return 0
	case errors.As(err, &code):
		return int(code)
	case ctx.Err() != nil && !change.IsUndoError(err) && !incluster.IsLeft(err):
		fmt.Fprintln(stderr, "assay: interrupted")
		if all := joined(err); len(all) > 1 { // those of the cleanup
			printError(stderr, errors.Join(all[1:]...))
		}
		return exitInterrupted
	}
	printError(stderr, err)
	return exitError
}
