//go:build live

package listen_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"assay.dev/assay/internal/testing/budget"
	"assay.dev/assay/internal/testing/polltest"
	"assay.dev/assay/internal/wire/listen"
)

func descriptors(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}

// Close ends connections in every state, and leaves nothing.
func TestCloseLeavesNothing(t *testing.T) {
	budget.CPUs(t, 0.05)
	var goroutines, files int
	settled := func() bool { return runtime.NumGoroutine() <= goroutines && descriptors(t) <= files }
	goroutines, files = runtime.NumGoroutine(), descriptors(t)
	polltest.Until(t, "earlier tests have ended", func() bool {
		now, open := runtime.NumGoroutine(), descriptors(t)
		same := now == goroutines && open == files
		goroutines, files = now, open
		return same
	})
	for range 2 {
		t.Run("", func(t *testing.T) {
			waits := make(chan struct{})
			s := start(t, func(o *listen.Options) {
				o.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if r.URL.Path == "/wait" {
						close(waits)
						<-r.Context().Done()
					}
					echo(w, r)
				})
			})
			for _, plain := range []bool{true, false} {
				for _, sent := range []string{"", "GET / HTTP/1.1\r\n", "GET / HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer wrong\r\n\r\n"} {
					if _, err := s.connect(t, "127.0.0.1", plain).Write([]byte(sent)); err != nil {
						t.Fatal(err)
					}
				}
				const authorized = "POST / HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer " + token + "\r\nContent-Length: 9\r\n\r\n"
				if _, err := s.connect(t, "127.0.0.1", plain).Write([]byte(authorized + "begin")); err != nil {
					t.Fatal(err)
				}
			}
			idle := s.client(t, "127.0.0.1")
			if got := idle.post(t.Context(), "https", token, "/", strings.NewReader("a")); got.status != http.StatusOK {
				t.Fatalf("%+v", got)
			}
			answered := make(chan answer)
			go func() {
				answered <- s.client(t, "127.0.0.1").post(context.Background(), "https", token, "/wait", strings.NewReader("a"))
			}()
			<-waits
			s.stop(t)
			<-answered
		})
	}
	polltest.Until(t, fmt.Sprintf("%d goroutines and %d descriptors are left", goroutines, files), settled)
}

// Requests that run may finish, while connections without the token do not delay the end.
func TestCloseWaitsForRequests(t *testing.T) {
	t.Parallel()
	budget.CPUs(t, 0.1)
	waits, goOn := make(chan struct{}), make(chan struct{})
	s := start(t, func(o *listen.Options) {
		o.Limits = listen.Limits{Authorize: time.Hour, Header: time.Hour}
		o.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			close(waits)
			<-goOn
			echo(w, r)
		})
	})
	pending := s.connect(t, "127.0.0.1", true)
	if _, err := pending.Write([]byte("GET / HTTP/1.1\r\n")); err != nil {
		t.Fatal(err)
	}
	answered, closed := make(chan answer, 1), make(chan error, 1)
	go func() {
		answered <- s.client(t, "127.0.0.1").post(context.Background(), "https", token, "/", strings.NewReader("a"))
	}()
	<-waits
	go func() { closed <- s.Close(context.Background()) }()
	first := make(chan string, 2)
	go func() { ends(t, pending); first <- "ours" }()
	go func() { closedByDefault(t); first <- "a plain one" }()
	if which := <-first; which != "ours" {
		t.Errorf("%s closed a connection without a request first", which)
	}
	select {
	case err := <-closed:
		t.Errorf("closed before the request ended: %v", err)
	case <-time.After(50 * time.Millisecond):
	}
	close(goOn)
	if got := <-answered; got.status != http.StatusOK || got.body != "a" {
		t.Errorf("%+v", got)
	}
	if err := <-closed; err != nil {
		t.Error(err)
	}
	if _, err := s.dial(t.Context(), "127.0.0.1"); err == nil {
		t.Error("still listening")
	}
}

// closedByDefault returns when the Shutdown of a plain server has closed a connection on which
// no request has arrived, which it does after 5 s.
func closedByDefault(t *testing.T) {
	plain := httptest.NewServer(nil)
	c, err := net.Dial("tcp", plain.Listener.Addr().String())
	if err != nil {
		t.Error(err)
		return
	}
	stop := context.AfterFunc(t.Context(), func() { _ = c.Close() }) // at the end of the test
	defer stop()
	if _, err := c.Write([]byte("GET / HTTP/1.1\r\n")); err != nil {
		t.Error(err)
	}
	go func() { _ = plain.Config.Shutdown(t.Context()) }()
	_, _ = io.Copy(io.Discard, c)
	_ = c.Close()
}

func TestCloseNamesARequestThatDoesNotEnd(t *testing.T) {
	t.Parallel()
	budget.CPUs(t, 0.05)
	waits, goOn := make(chan struct{}), make(chan struct{})
	s := start(t, func(o *listen.Options) {
		o.Handler = http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
			close(waits)
			<-goOn
		})
	})
	answered := make(chan answer, 1)
	go func() {
		answered <- s.client(t, "127.0.0.1").post(context.Background(), "https", token, "/", strings.NewReader("a"))
	}()
	<-waits
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Close(ctx); err == nil {
		t.Error("no error")
	}
	close(goOn)
	if got := <-answered; got.err == nil {
		t.Errorf("%+v", got)
	}
}
