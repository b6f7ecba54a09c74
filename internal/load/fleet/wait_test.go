package fleet

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"assay.dev/assay/internal/wire"
)

// A worker that waits for others is answered in time, to join and to start, and asks again.
func TestRequestsThatWaitAreAnswered(t *testing.T) {
	keys := wire.NewKeys("run", "token")
	c := NewCoordinator(Options{Workers: 2, Keys: keys})
	c.waitLimit = 10 * time.Millisecond
	mux := http.NewServeMux()
	c.Routes(mux)
	server := httptest.NewServer(mux)
	defer server.Close()
	first, second := wire.New(server.URL, keys.Token(), nil), wire.New(server.URL, keys.Token(), nil)
	defer first.Close()
	defer second.Close()
	a, waiting, err := first.Join(t.Context(), wire.Hello{Identity: "a"})
	if a != nil || waiting != (wire.Waiting{Joined: 1, Of: 2}) || err != nil {
		t.Fatalf("one of two workers: %+v, %+v, %v", a, waiting, err)
	}
	joined := make(chan *wire.Assignment, 2)
	for identity, l := range map[string]*wire.Link{"a": first, "b": second} {
		go func() {
			var a *wire.Assignment
			var err error
			for a == nil && err == nil {
				a, _, err = l.Join(t.Context(), wire.Hello{Identity: identity})
			}
			if err != nil {
				t.Error(err)
			}
			joined <- a
		}()
	}
	if _, err := c.AwaitWorkers(t.Context()); err != nil {
		t.Fatal(err)
	}
	c.Assign([]wire.Assignment{{Number: 0}, {Number: 1}}, nil, t.TempDir())
	one, other := <-joined, <-joined
	if one == nil || other == nil || one.Number == other.Number {
		t.Fatalf("shares: %+v, %+v", one, other)
	}
	if s, err := first.As(*one).Start(t.Context(), nil); s != nil || err != nil {
		t.Errorf("one of two workers is ready: %+v, %v", s, err)
	}
}
