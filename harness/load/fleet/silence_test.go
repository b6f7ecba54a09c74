package fleet

import (
	"slices"
	"testing"
	"time"

	"assay/harness/wire"
)

// A worker is lost after 30 s of silence, but not because the coordinator itself was
// suspended.
func TestLoseSilent(t *testing.T) {
	now := time.Unix(1000, 0)
	hellos := []wire.Hello{{Identity: "a"}, {Identity: "b"}, {Identity: "c"}}
	c := Continue(Options{}, State{T0: now, Members: hellos}, func(i int) bool { return i == 2 }, t.TempDir())
	c.now = func() time.Time { return now }
	lost := func() (sources []string) {
		for _, m := range []int{0, 1, 2} {
			if e := c.members[m].exit; e != nil && e.Status == Lost {
				sources = append(sources, e.Source)
			}
		}
		return sources
	}
	if e := <-c.Ended(); e.Source != "worker/2" || e.Status != Closed {
		t.Errorf("a worker that had ended before the restart: %s", e)
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
	if c.heard(wire.Sender{Number: 0, Identity: "x"}) || c.heard(wire.Sender{Number: 3, Identity: "a"}) {
		t.Error("a stranger is heard")
	}
}
