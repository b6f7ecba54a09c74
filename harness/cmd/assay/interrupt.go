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
// end in order. A second interrupt only ends the waiting for slow parts (forceStop):
// changes are restored all the same.
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

// ignoreBrokenPipe keeps this process alive when its output is closed, so that it
// restores what it changed: a tee behind it ends by the same Ctrl-C. Children get
// SIGPIPE as usual.
func ignoreBrokenPipe() { signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) }

type forceStopKey struct{}

// forceStop is the context that is done at the second interrupt.
func forceStop(ctx context.Context) context.Context {
	if force, ok := ctx.Value(forceStopKey{}).(context.Context); ok {
		return force
	}
	return context.WithoutCancel(ctx)
}
