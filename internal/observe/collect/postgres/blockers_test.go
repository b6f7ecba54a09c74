package postgres

import (
	"maps"
	"testing"

	"assay.dev/assay/internal/observe/collect/sampling"
)

func TestHolders(t *testing.T) {
	t.Parallel()
	sync := sampling.Session{Event: "IO:WALSync", Class: "commit"}
	holds := func(pid int32, object, state, event string) lock { return lock{pid, true, object, state, event} }
	waits := func(pid int32, object string) lock {
		return lock{pid, false, object, "active", "Lock:transactionid"}
	}
	for name, c := range map[string]struct {
		locks []lock
		want  map[sampling.Session]int
	}{
		"no waiters": {[]lock{holds(1, "x1", "active", "")}, map[sampling.Session]int{}},
		"a queue": {[]lock{
			holds(1, "x1", "active", "IO:WALSync"), waits(2, "x1"), holds(2, "x2", "active", "Lock:transactionid"),
			holds(2, "t", "active", "Lock:transactionid"), waits(3, "t"), waits(4, "t"),
		}, map[sampling.Session]int{sync: 3}},
		"idle and computing": {[]lock{
			holds(1, "x1", "idle in transaction (aborted)", "Client:ClientRead"), waits(2, "x1"),
			holds(5, "x5", "active", ""), waits(6, "x5"),
		}, map[sampling.Session]int{sampling.Idle: 1, classify(""): 1}},
		"a deadlock":                      {[]lock{holds(1, "x1", "active", ""), waits(1, "x2"), holds(2, "x2", "active", ""), waits(2, "x1")}, map[sampling.Session]int{}},
		"released meanwhile":              {[]lock{waits(2, "x1")}, map[sampling.Session]int{}},
		"waiting for another lock by now": {[]lock{holds(1, "x1", "active", "Lock:tuple"), waits(2, "x1")}, map[sampling.Session]int{}},
	} {
		if got := holders(c.locks); !maps.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

// A negative difference is subtracted from later ones.
func TestRemainder(t *testing.T) {
	t.Parallel()
	var r remainder
	for i, c := range []struct{ ms, want float64 }{{10, 10}, {-4, 0}, {3, 0}, {5, 4}, {0, 0}, {2, 2}} {
		if got := r.add(c.ms); got != c.want {
			t.Errorf("step %d: %v, want %v", i, got, c.want)
		}
	}
}

func TestStatementIncrease(t *testing.T) {
	t.Parallel()
	s := newStatements()
	if got := s.Increase(map[int64]sampling.Usage{1: {Calls: 10, Ms: 100}}); len(got) != 0 {
		t.Errorf("the first reading gave %v", got)
	}
	got := s.Increase(map[int64]sampling.Usage{1: {Calls: 12, Ms: 150}, 2: {Calls: 1, Ms: 5}, 0: {Calls: 2, Ms: 7}})
	if want := map[int64]sampling.Usage{1: {Calls: 2, Ms: 50}, 2: {Calls: 1, Ms: 5}, 0: {Calls: 2, Ms: 7}}; !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if got := s.Increase(map[int64]sampling.Usage{1: {Calls: 1, Ms: 1}}); len(got) != 0 {
		t.Errorf("a reset gave %v", got)
	}
	if got := s.Increase(map[int64]sampling.Usage{1: {Calls: 3, Ms: 4}, 2: {Calls: 2, Ms: 9}}); !maps.Equal(got, map[int64]sampling.Usage{1: {Calls: 2, Ms: 3}, 2: {Calls: 2, Ms: 9}}) {
		t.Errorf("after the reset, and an eviction: %v", got)
	}
}

func TestTooOld(t *testing.T) {
	t.Parallel()
	if err := (server{version: "13.4", major: 13}).usable(); err == nil {
		t.Error("a server whose sessions do not show their statement is usable")
	}
	if err := (server{version: "14.0", major: 14}).usable(); err != nil {
		t.Error(err)
	}
}
