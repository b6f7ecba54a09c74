package k6

import (
	"os"
	"runtime/debug"
	"runtime/metrics"
)

// A worker's garbage collections are what its latencies suffer from first: on
// one core a collection of a small heap takes 20 ms, and what falls due
// meanwhile is worked off for as long again. So they must be rare at the rate
// that is asked for, which a target in percent of a live heap of 20 MiB is not.
const (
	// collectEvery is how many seconds apart collections are meant to be.
	collectEvery = 5
	// garbage of one transaction with one request, in bytes: 12 KiB measured
	// (make bench), with room for what a script does with the answer.
	garbage = 16 << 10
	// roomFactor is what may gather between two collections at least, as a
	// multiple of the live heap.
	roomFactor = 4
	// mostRoom bounds both.
	mostRoom = 1 << 30
	// leastGC is the target in percent below which a collection costs more than
	// its memory is worth: Go's own.
	leastGC = 100
)

// collector keeps the target of Go's garbage collector at what a worker needs.
// Memory is at its level after collectEvery seconds at the planned rate, and
// stays there.
type collector struct {
	rate    float64 // transactions a second
	percent int     // that is set now
	leave   bool    // the environment has set it
}

func newCollector(rate float64) *collector {
	return &collector{rate: rate, leave: os.Getenv("GOGC") != ""}
}

// adjust sets the target anew where the live heap has changed. Setting it stops
// the world for a moment, which small changes are not worth.
func (c *collector) adjust() {
	if c.leave {
		return
	}
	percent := gcPercent(liveHeap(), c.rate)
	if change := percent - c.percent; 10*max(change, -change) <= c.percent {
		return
	}
	debug.SetGCPercent(percent)
	c.percent = percent
}

// gcPercent is the target for a live heap of so many bytes and a rate in
// transactions a second.
func gcPercent(live uint64, rate float64) int {
	heap := float64(max(live, 1))
	room := min(max(roomFactor*heap, rate*collectEvery*garbage), mostRoom)
	return int(max(leastGC, 100*room/heap))
}

// liveHeap is what the last collection left, in bytes.
func liveHeap() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}
