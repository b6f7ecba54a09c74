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
// second one ends what is only waited for (hurried), and no more than that: what
// was changed is restored all the same.
func interruptible(stderr io.Writer) context.Context {
	hurry, second := context.WithCancel(context.Background())
	ctx, first := context.WithCancel(context.WithValue(context.Background(), hurryKey{}, hurry))
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

// unread keeps this process alive where nobody reads what it says any more: tee
// gets the Ctrl-C too, and what was changed is restored all the same. Children have
// SIGPIPE as ever.
func unread() { signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) }

type hurryKey struct{}

// hurried is done at the second interrupt.
func hurried(ctx context.Context) context.Context {
	if hurry, ok := ctx.Value(hurryKey{}).(context.Context); ok {
		return hurry
	}
	return context.WithoutCancel(ctx)
}
