package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"assay.dev/assay/internal/crash"
)

// Interruptible returns a context that is done at the first interrupt: commands then
// end in order. After a second interrupt they no longer wait for slow parts
// (forceStop), and still restore what they changed. The panic of a goroutine is like an
// interrupt, and the context's cause.
func Interruptible(stderr io.Writer) context.Context {
	force, second := context.WithCancel(context.Background())
	ctx, first := context.WithCancelCause(context.WithValue(context.Background(), forceStopKey{}, force))
	signals := make(chan os.Signal, 1)
	// By SIGQUIT (Ctrl-\) and SIGABRT Go would end the process at once, with its stacks.
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGQUIT, syscall.SIGABRT)
	if !signal.Ignored(syscall.SIGHUP) { // as under nohup
		signal.Notify(signals, syscall.SIGHUP)
	}
	crash.Watch(func(err error) {
		first(err)
		// Something may wait for ever for what the goroutine was to do.
		time.AfterFunc(patience, second)
		time.AfterFunc(2*patience, func() {
			PrintError(stderr, err)
			os.Exit(ExitError)
		})
	})
	crash.Go(func() {
		<-signals
		first(nil)
		<-signals
		second()
		fmt.Fprintln(stderr, "assay: stopping now: killing the remaining processes, restoring what was changed")
	})
	return ctx
}

// patience is how long a command may take to end after a goroutine has panicked, before it
// waits for nothing that is slow; after as long again the process ends.
const patience = time.Minute

// IgnoreBrokenPipe keeps this process alive when its output is closed, as by a tee that
// the same Ctrl-C ends, so that it restores what it changed. Children get SIGPIPE as
// usual.
func IgnoreBrokenPipe() { signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) }

type forceStopKey struct{}

// ForceStop returns the context that is done at the second interrupt.
func ForceStop(ctx context.Context) context.Context {
	if force, ok := ctx.Value(forceStopKey{}).(context.Context); ok {
		return force
	}
	return context.WithoutCancel(ctx)
}
