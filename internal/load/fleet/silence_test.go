package fleet

import (
	"slices"
	"testing"
	"time"

	"assay.dev/assay/internal/wire"
)

// A worker is lost after 30 s of silence, but not because the coordinator itself was
// suspended. One whose stream was complete before a restart has ended, unless it still
// says how.
func TestLoseSilent(t *testing.T) {
	now := time.Unix(1000, 0)
	hellos := []wire.Hello{{Identity: "a"}, {Identity: "b"}, {Identity: "c"}, {Identity: "d"}}
	c := Continue(Options{}, State{T0: now, Members: hellos}, func(i int) bool { return i >= 2 }, t.TempDir())
	c.now = func() time.Time { return now }
	lost := func() (sources []string) {
		for _, m := range []int{0, 1, 2, 3} {
			if e := c.members[m].exit; e != nil && e.Status == Lost {
				sources = append(sources, e.Source)
			}
		}
		return sources
	}
	c.LoseSilent()
	second := func(heard ...int) {
		now = now.Add(time.Second)
		for _, i := range heard {
			if !c.heard(wire.Sender{Number: i, Identity: hellos[i].Identity}) {
				t.Errorf("worker %d is unknown", i)
			}
		}
		c.LoseSilent()
	}
	for range 5 {
		second(0, 1, 3)
	}
	if len(c.ended) > 0 {
		t.Errorf("ended after 5 s: %s", <-c.ended)
	}
	second(0, 1, 3)
	if e := <-c.Ended(); e.Source != "worker/2" || e.Status != Closed {
		t.Errorf("a worker that had ended before the restart: %s", e)
	}
	c.mu.Lock()
	c.exited(3, Exit{Status: "107"})
	c.mu.Unlock()
	if e := <-c.Ended(); e.Source != "worker/3" || e.Status != "107" {
		t.Errorf("a worker that ends after the restart: %s", e)
	}
	for range 40 {
		second(0, 1)
	}
	now = now.Add(time.Minute) // suspended
	c.LoseSilent()
	for range 30 {
		second(0)
	}
	if got := lost(); len(got) > 0 {
		t.Errorf("lost after 30 s: %v", got)
	}
	second(0)
	if got := lost(); !slices.Equal(got, []string{"worker/1"}) {
		t.Errorf("lost after 31 s: %v", got)
	}
	if c.heard(wire.Sender{Number: 0, Identity: "x"}) || c.heard(wire.Sender{Number: 4, Identity: "a"}) {
		t.Error("a stranger is heard")
	}
}
