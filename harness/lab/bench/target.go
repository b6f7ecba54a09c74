package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
)

// The two cores.
const (
	generatorCPU = 0
	targetCPU    = 1

	serveArg = "serve-trivial"
)

// serveTrivial is the target: a server that answers at once and counts. It
// also takes what k6's other outputs send, and throws it away. It ends with its
// standard input.
func serveTrivial() error {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	var served atomic.Int64
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(http.ResponseWriter, *http.Request) { served.Add(1) })
	mux.HandleFunc("GET /served", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, served.Load()) })
	discard := func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // thrown away
		w.WriteHeader(http.StatusNoContent)
	}
	mux.HandleFunc("POST /write", discard) // InfluxDB
	mux.HandleFunc("POST /query", discard)
	mux.HandleFunc("POST /v1/metrics", func(_ http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) })
	fmt.Println(listener.Addr())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin) // until the parent ends
		os.Exit(0)
	}()
	return http.Serve(listener, mux)
}

// target is the trivial server as a process on its own core.
type target struct {
	url   string
	cmd   *exec.Cmd
	stdin io.Closer
}

func startTarget(ctx context.Context) (*target, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	// This process, with the coordinator, stays off the generator's core too.
	if out, err := exec.CommandContext(ctx, "taskset", "-a", "-c", "-p", strconv.Itoa(targetCPU), strconv.Itoa(os.Getpid())).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("pin to CPU %d: %w: %s", targetCPU, err, out)
	}
	cmd := exec.Command(self, serveArg)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	addr, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start target: %w", err), cmd.Process.Signal(syscall.SIGKILL), cmd.Wait())
	}
	return &target{url: "http://" + strings.TrimSpace(addr), cmd: cmd, stdin: stdin}, nil
}

func (t *target) stop() {
	_ = t.stdin.Close()
	_ = t.cmd.Wait() // it has nothing to say
}

// served is how many requests the target has answered.
func (t *target) served() (int64, error) {
	resp, err := http.Get(t.url + "/served")
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, err
	}
	return strconv.ParseInt(string(data), 10, 64)
}
