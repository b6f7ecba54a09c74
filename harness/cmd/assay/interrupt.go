package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

// interruptible returns a context that is done at the first interrupt: commands then
// end in order. After a second interrupt they no longer wait for slow parts
// (forceStop), and still restore what they changed.
func interruptible(stderr io.Writer) context.Context {
	force, second := context.WithCancel(context.Background())
	ctx, first := context.WithCancel(context.WithValue(context.Background(), forceStopKey{}, force))
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) { // as under nohup
		signal.Notify(signals, syscall.SIGHUP)
	}
	go func() {
		<-signals
		first()
		<-signals
		fmt.Fprintln(stderr, "assay: stopping now: killing the remaining processes, restoring what was changed")
		second()
	}()
	return ctx
}

// ignoreBrokenPipe keeps this process alive when its output is closed, as by a tee that
// the same Ctrl-C ends, so that it restores what it changed. Children get SIGPIPE as
// usual.
func ignoreBrokenPipe() { signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) }

type forceStopKey struct{}

// forceStop returns the context that is done at the second interrupt.
func forceStop(ctx context.Context) context.Context {
	if force, ok := ctx.Value(forceStopKey{}).(context.Context); ok {
		return force
	}
	return context.WithoutCancel(ctx)
}
