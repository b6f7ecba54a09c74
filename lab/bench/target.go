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
	"runtime"
	"strconv"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"assay.dev/assay/internal/servers/process"
)

// The two cores.
const (
	generatorCPU = 0 // and the coordinator's, of synthetic fleets
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
	started
	url string
}

func (b *bench) startTarget(ctx context.Context) (*target, error) {
	// This process, with the coordinator, does not use the generator's core either.
	if out, err := exec.CommandContext(ctx, "taskset", "-a", "-c", "-p", strconv.Itoa(targetCPU), strconv.Itoa(os.Getpid())).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("pin to CPU %d: %w: %s", targetCPU, err, out)
	}
	return b.serve(serveArg)
}

// serve starts this program as a server, which prints its address.
func (b *bench) serve(arg string) (*target, error) {
	t := &target{}
	if err := t.start(exec.Command(b.self, arg), func(line string) bool {
		t.url = "http://" + line
		return true
	}); err != nil {
		return nil, err
	}
	return t, nil
}

// started is a program that prints lines.
type started struct{ child *process.Child }

// start returns when the program has printed the line that it is ready.
func (p *started) start(cmd *exec.Cmd, ready func(line string) bool) error {
	from, to, err := os.Pipe()
	if err != nil {
		return err
	}
	cmd.Stdout, cmd.Stderr = to, os.Stderr
	p.child, err = process.Start(cmd, process.Tied)
	_ = to.Close() // the child has its own copy
	if err != nil {
		return errors.Join(err, from.Close())
	}
	for lines := bufio.NewScanner(from); lines.Scan(); {
		if ready(lines.Text()) {
			go func() { // ends with the process
				defer from.Close()
				_, _ = io.Copy(io.Discard, from)
			}()
			return nil
		}
	}
	return errors.Join(fmt.Errorf("%s is not ready", cmd), from.Close(), p.child.Kill())
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

const answerArg = "answer"

var (
	endOfRequest = []byte("\r\n\r\n")
	servedPath   = []byte("GET /served ")
)

// serveAnswers is a target that costs as little CPU time as a server in a process of its
// own can: one thread waits for all connections (epoll) and answers each request without
// reading it. Requests must have no body, as a GET has none. It counts them, and answers
// /served with the count. It runs until it is killed.
func serveAnswers() error {
	runtime.LockOSThread()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	defer listener.Close()
	file, err := listener.(*net.TCPListener).File()
	if err != nil {
		return err
	}
	defer file.Close() // until then it must stay referenced
	fmt.Println(listener.Addr())
	a := answerer{listener: int(file.Fd()), started: map[int32][]byte{}, buffer: make([]byte, 64<<10)}
	return a.run()
}

type answerer struct {
	listener int
	epoll    int
	served   int64
	started  map[int32][]byte // parts of requests that have come so far, by connection
	buffer   []byte
}

func (a *answerer) run() (err error) {
	if a.epoll, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC); err != nil {
		return os.NewSyscallError("epoll_create1", err)
	}
	if err := unix.SetNonblock(a.listener, true); err != nil {
		return os.NewSyscallError("fcntl", err)
	}
	if err := a.watch(a.listener); err != nil {
		return err
	}
	events := make([]unix.EpollEvent, 256)
	for {
		n, err := unix.EpollWait(a.epoll, events, -1)
		if err != nil && !errors.Is(err, unix.EINTR) {
			return os.NewSyscallError("epoll_wait", err)
		}
		for _, e := range events[:max(n, 0)] {
			if int(e.Fd) != a.listener {
				a.answer(e.Fd)
			} else if err := a.accept(); err != nil {
				return err
			}
		}
	}
}

func (a *answerer) watch(fd int) error {
	return os.NewSyscallError("epoll_ctl", unix.EpollCtl(a.epoll, unix.EPOLL_CTL_ADD, fd, &unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(fd)}))
}

func (a *answerer) accept() error {
	for {
		fd, _, err := unix.Accept4(a.listener, unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC)
		switch {
		case errors.Is(err, unix.EAGAIN):
			return nil
		case errors.Is(err, unix.EINTR), errors.Is(err, unix.ECONNABORTED):
			continue
		case err != nil:
			return os.NewSyscallError("accept4", err)
		}
		if err := errors.Join(unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1), a.watch(fd)); err != nil {
			return err
		}
	}
}

// answer answers all requests that have come on a connection.
func (a *answerer) answer(fd int32) {
	n, err := unix.Read(int(fd), a.buffer)
	if errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EINTR) {
		return
	}
	if n <= 0 {
		a.close(fd)
		return
	}
	data := a.buffer[:n]
	if start, ok := a.started[fd]; ok {
		data = append(start, data...)
		delete(a.started, fd)
	}
	var out []byte
	for {
		end := bytes.Index(data, endOfRequest)
		if end < 0 {
			break
		}
		if bytes.HasPrefix(data, servedPath) {
			count := strconv.FormatInt(a.served, 10)
			out = append(out, "HTTP/1.1 200 OK\r\nContent-Length: "+strconv.Itoa(len(count))+"\r\n\r\n"+count...)
		} else {
			a.served++
			out = append(out, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"...)
		}
		data = data[end+len(endOfRequest):]
	}
	if len(data) > 0 {
		a.started[fd] = bytes.Clone(data)
	}
	if len(out) == 0 {
		return
	}
	// The answers are far smaller than a socket's buffer: what does not fit is for a
	// client that does not read.
	if m, err := unix.Write(int(fd), out); err != nil || m < len(out) {
		a.close(fd)
	}
}

func (a *answerer) close(fd int32) {
	delete(a.started, fd)
	_ = unix.Close(int(fd))
}
