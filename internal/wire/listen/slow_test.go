//go:build live

package listen_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"assay.dev/assay/internal/testing/budget"
	"assay.dev/assay/internal/wire/listen"
)

// 256 MiB in 25 to 250 kB cost a few times the limit, or the window that a decoder of zstd has.
func TestBombCostsLittleMemory(t *testing.T) {
	budget.CPUs(t, 0.5)
	s := start(t, nil)
	c := s.client(t, "127.0.0.1")
	for encoding, bomb := range map[string][]byte{
		"gzip": gzipped(t, io.LimitReader(repeat(0), 256<<20)), "zstd": zstded(t, io.LimitReader(repeat(0), 256<<20)),
	} {
		for path, limit := range map[string]uint64{"/": 64 << 10, "/large": 16 << 20} {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			got := c.post(t.Context(), "https", token, path, bytes.NewReader(bomb), "Content-Encoding", encoding)
			runtime.ReadMemStats(&after)
			if got.status != http.StatusRequestEntityTooLarge {
				t.Errorf("%s: %+v", encoding, got)
			}
			allocated := after.TotalAlloc - before.TotalAlloc
			t.Logf("%s on %s: %d KiB of allocations", encoding, path, allocated>>10)
			if allocated > 8*max(limit, 8<<20)+32<<20 {
				t.Errorf("%s on %s allocated %d MiB", encoding, path, allocated>>20)
			}
		}
	}
}

// A client with the token that sends slowly holds no handler, and one that reads slowly
// loses its connection; a handler that waits longer than either may.
func TestSlowClientsAndSlowHandlers(t *testing.T) {
	t.Parallel()
	budget.CPUs(t, 0.1)
	const limit = 2 * time.Second
	wrote, waits, left := make(chan error, 1), make(chan struct{}), make(chan struct{})
	s := start(t, func(o *listen.Options) {
		o.Limits = listen.Limits{Body: limit, Write: limit, Header: limit}
		o.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch r.URL.Path {
			case "/wait":
				select {
				case <-time.After(3 * limit):
				case <-r.Context().Done():
					t.Error("the wait ended before its time")
				}
				echo(w, r)
			case "/long":
				_, err := io.Copy(w, io.LimitReader(repeat('a'), 1<<30))
				wrote <- err
			case "/slow":
				t.Error("the handler runs before the body is there")
			case "/forever":
				close(waits)
				<-r.Context().Done()
				close(left)
			default:
				echo(w, r)
			}
		})
	})
	defer s.beside(t, "127.0.0.1")()
	header := "POST %s HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer " + token + "\r\nContent-Length: 1000\r\n\r\n"

	slow := s.connect(t, "127.0.0.1", false)
	if _, err := fmt.Fprintf(slow, header+"begins", "/slow"); err != nil {
		t.Fatal(err)
	}
	if got := ends(t, slow); !strings.HasPrefix(got, "HTTP/1.1 408 ") {
		t.Errorf("a slow body: %q", got)
	}

	for _, body := range []string{"waits", ""} {
		if got := s.client(t, "127.0.0.1").post(t.Context(), "https", token, "/wait", strings.NewReader(body)); got.status != 200 || got.body != body {
			t.Errorf("a long poll: %+v", got)
		}
	}

	stuck := s.connect(t, "127.0.0.1", false)
	if _, err := fmt.Fprintf(stuck, header+strings.Repeat("a", 1000), "/long"); err != nil {
		t.Fatal(err)
	}
	if err := <-wrote; err == nil {
		t.Error("1 GiB was written to a client that does not read")
	}

	gone, cancel := context.WithCancel(t.Context())
	result := make(chan answer, 1)
	go func() {
		result <- s.client(t, "127.0.0.1").post(gone, "https", token, "/forever", strings.NewReader("a"))
	}()
	<-waits
	cancel()
	<-left // the handler learns of it
	if got := <-result; got.err == nil {
		t.Errorf("%+v", got)
	}
}
