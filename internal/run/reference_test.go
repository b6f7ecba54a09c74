//go:build live

package run_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"

	"assay.dev/assay/internal/servers/process"
	"assay.dev/assay/lab/target"
)

// serveCommand makes the test binary the reference service until its standard input is
// closed.
const (
	serveCommand  = "reference-service"
	serviceDSNEnv = "ASSAY_TEST_SERVICE_DB"
	// serviceQueueEnv makes it answer first and store later.
	serviceQueueEnv = "ASSAY_TEST_SERVICE_QUEUE"
)

func runReferenceService() error {
	c := target.DefaultConfig()
	c.Listen, c.DSN, c.DrainTimeout = "127.0.0.1:0", os.Getenv(serviceDSNEnv), 2*time.Second
	if os.Getenv(serviceQueueEnv) != "" {
		c = queueing(c)
	}
	ctx, cancel := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin) // until the parent ends
		cancel()
	}()
	return target.Run(ctx, c, slog.New(slog.DiscardHandler), func(addr string) { fmt.Println(addr) })
}

// startReferenceService starts the reference service in a process of its own, so that its
// resources are not counted as the coordinator's.
func startReferenceService(t *testing.T, dsn string, env ...string) (url string) {
	t.Helper()
	url, _ = startReferenceProcess(t, dsn, env...)
	return url
}

// startReferenceProcess is startReferenceService with the process.
func startReferenceProcess(t *testing.T, dsn string, env ...string) (url string, pid int) {
	t.Helper()
	cmd := exec.Command(os.Args[0], serveCommand)
	cmd.Env = append(append(os.Environ(), serviceDSNEnv+"="+dsn), env...)
	input, keep, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, output, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = input, output, os.Stderr
	child, err := process.Start(cmd, process.Tied)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = keep.Close(); _ = child.Stop(10 * time.Second) })
	_, _ = input.Close(), output.Close() // the child has its own
	defer stdout.Close()
	addr, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		t.Fatalf("reference service: %v", err)
	}
	return "http://" + strings.TrimSpace(addr), cmd.Process.Pid
}
