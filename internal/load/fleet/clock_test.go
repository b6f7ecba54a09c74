package fleet

import (
	"encoding/json"
	"net/http/httptest"
	"testing"
	"time"

	"assay.dev/assay/internal/wire"
)

// Somebody sets the coordinator's clock forward under load: what workers compare their
// clocks with goes on as it was at the start.
func TestHeartbeatsFollowNoStep(t *testing.T) {
	c := NewCoordinator(Options{Workers: 1})
	now := time.Now()
	c.now = func() time.Time { return now }
	pulse := func() (p wire.Pulse) {
		w := httptest.NewRecorder()
		c.answerHeartbeat(w, now)
		if err := json.Unmarshal(w.Body.Bytes(), &p); err != nil {
			t.Fatal(err)
		}
		return p
	}
	if p := pulse(); !p.Received.Equal(now) || !p.Answered.Equal(now) {
		t.Errorf("before the start: %s, at %s", p.Received, now)
	}
	c.awaitsStart(&member{}, nil)
	start := now
	if c.steady.since != start || !c.t0.After(start) {
		t.Fatalf("start %s, t0 %s", c.steady.since, c.t0)
	}
	c.steady.wall = c.steady.wall.Add(-200 * time.Millisecond) // the wall clock is 200 ms ahead of where it was
	now = now.Add(3 * time.Second)
	if p, want := pulse(), start.Add(2800*time.Millisecond); !p.Received.Equal(want) || !p.Answered.Equal(want) {
		t.Errorf("after a step: %s, want %s", p.Received, want)
	}
}
