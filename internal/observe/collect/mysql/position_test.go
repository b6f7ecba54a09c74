package mysql

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestPositionsAreOrdered(t *testing.T) {
	ordered := []position{{"binlog.000009", 99}, {"binlog.000010", 4}, {"binlog.000010", 5}, {"binlog.999999", 7}, {"binlog.1000000", 4}}
	for i, p := range ordered {
		for j, q := range ordered {
			if got := p.compare(q); got != (position{}).sign(i, j) {
				t.Errorf("%v and %v: %d", p, q, got)
			}
		}
	}
}

func (position) sign(i, j int) int {
	switch {
	case i < j:
		return -1
	case i > j:
		return 1
	}
	return 0
}

// Whenever the source writes and whenever its binlog is observed: the lag is never less
// than the true age of the oldest transaction that the replica has not executed, and
// exceeds it by at most one interval between observations.
func TestLagIsTheAgeOfTheOldestUnexecutedTransaction(t *testing.T) {
	zero := time.Unix(0, 0)
	rapid.Check(t, func(t *rapid.T) {
		var h history
		var written []time.Time // when position i+1 was written
		now, lastObserved := zero, zero
		longest := time.Duration(0)
		executed := uint64(0)
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			now = now.Add(time.Duration(rapid.IntRange(1, 500).Draw(t, "ms")) * time.Millisecond)
			switch rapid.IntRange(0, 2).Draw(t, "what") {
			case 0:
				written = append(written, now)
			case 1:
				executed = min(uint64(len(written)), executed+rapid.Uint64Range(0, 3).Draw(t, "executed"))
			default:
				if lastObserved == zero && len(written) > 0 {
					executed = uint64(len(written)) // caught up at the first observation
				}
				if lastObserved != zero {
					longest = max(longest, now.Sub(lastObserved))
				}
				h.add(position{"binlog.000001", uint64(len(written))}, now)
				lastObserved = now
				got := h.lag(position{"binlog.000001", executed}, now)
				want := time.Duration(0)
				if executed < uint64(len(written)) {
					want = now.Sub(written[executed])
				}
				if got < want || got > want+longest {
					t.Fatalf("lag %v, want %v; the longest interval between observations is %v", got, want, longest)
				}
			}
		}
	})
}
