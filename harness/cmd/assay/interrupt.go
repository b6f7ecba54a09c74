package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

// interruptible is done at the first interrupt: commands then end in order. A
// second one ends the waiting for what is slow (forceStop), and no more than that:
// what was changed is restored all the same.
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
		fmt.Fprintln(stderr, "assay: not waiting any longer: killing what still runs, restoring what was changed")
		second()
	}()
	return ctx
}

// ignoreBrokenPipe keeps this process alive where nobody reads its output any more:
// tee gets the Ctrl-C too, and what was changed is restored all the same. Children
// have SIGPIPE as ever.
func ignoreBrokenPipe() { signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) }

type forceStopKey struct{}

// forceStop is done at the second interrupt.
func forceStop(ctx context.Context) context.Context {
	if force, ok := ctx.Value(forceStopKey{}).(context.Context); ok {
		return force
	}
	return context.WithoutCancel(ctx)
}
