package main

import (
	"bufio"
	"bytes"
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
	"time"

	"assay.dev/assay/internal/servers/process"
)

// The two cores.
const (
	generatorCPU = 0
	targetCPU    = 1

	serveArg = "serve-trivial"
)

// serveTrivial is the target: a server that responds at once and counts requests. It also
// answers payments without making any. Below /after/MS/ it responds after so many milliseconds. It runs until it is
// killed.
func serveTrivial() error {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	var served atomic.Int64
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(http.ResponseWriter, *http.Request) { served.Add(1) })
	mux.HandleFunc("GET /served", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, served.Load()) })
	mux.HandleFunc("POST /payments", func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusCreated)
		_, _ = w.Write(bytes.Replace(body, []byte("{"), []byte(`{"state":"CONFIRMED",`), 1))
	})
	mux.HandleFunc("GET /payments/{id}", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"state":"CONFIRMED","id":%q,"amount":12345,"created_at":"2026-11-20T23:48:03.123456Z"}`, r.PathValue("id"))
	})
	mux.HandleFunc("/after/{ms}/{rest...}", func(w http.ResponseWriter, r *http.Request) {
		ms, _ := strconv.Atoi(r.PathValue("ms"))
		time.Sleep(time.Duration(ms) * time.Millisecond)
		r.URL.Path = "/" + r.PathValue("rest")
		mux.ServeHTTP(w, r)
	})
	fmt.Println(listener.Addr())
	return http.Serve(listener, mux)
}

// target is the trivial server, as a process on its own core.
type target struct {
	url   string
	child *process.Child
}

func startTarget(ctx context.Context) (*target, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	// This process, with the coordinator, does not use the generator's core either.
	if out, err := exec.CommandContext(ctx, "taskset", "-a", "-c", "-p", strconv.Itoa(targetCPU), strconv.Itoa(os.Getpid())).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("pin to CPU %d: %w: %s", targetCPU, err, out)
	}
	return serve(self, serveArg)
}

// serve starts this program as a server, which prints its address.
func serve(self string, arg ...string) (*target, error) {
	from, to, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer from.Close()
	cmd := exec.Command(self, arg...)
	cmd.Stdout, cmd.Stderr = to, os.Stderr
	child, err := process.Start(cmd, process.Tied)
	_ = to.Close() // the child has its own copy
	if err != nil {
		return nil, err
	}
	addr, err := bufio.NewReader(from).ReadString('\n')
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start target: %w", err), child.Kill())
	}
	return &target{url: "http://" + strings.TrimSpace(addr), child: child}, nil
}

func (t *target) stop() error { return t.child.Kill() }

// served is the number of requests that the target has answered.
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
