package k6

import (
	"os"
	"runtime/debug"
	"runtime/metrics"
)

// A worker's garbage collections are the first to disturb its latencies: on one core
// a collection of a small heap takes 20 ms, and the backlog as long again. So they
// must be rare at the planned rate, which they are not with a target in percent of a
// live heap of 20 MiB.
const (
	// collectEvery is the intended time between collections, in seconds.
	collectEvery = 5
	// garbage of one transaction with one request, in bytes: 12 KiB measured
	// (make bench), with room for a script's own.
	garbage = 16 << 10
	// minRoomFactor is the least garbage between two collections, as a multiple of the
	// live heap.
	minRoomFactor = 4
	// maxRoom bounds both.
	maxRoom = 1 << 30
	// minPercent is the least target in percent: Go's default.
	minPercent = 100
)

// gcTuner adjusts the target of Go's garbage collector. Memory stops growing after
// collectEvery seconds at the planned rate.
type gcTuner struct {
	rate    float64 // transactions a second
	percent int     // current target
	leave   bool    // the environment has set the target
}

func newGCTuner(rate float64) *gcTuner {
	return &gcTuner{rate: rate, leave: os.Getenv("GOGC") != ""}
}

// adjust sets the target where the live heap has changed. Setting it stops the world
// for a moment, so small changes are ignored.
func (c *gcTuner) adjust() {
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

// gcPercent is the target for a live heap in bytes and a rate in transactions a
// second.
func gcPercent(live uint64, rate float64) int {
	heap := float64(max(live, 1))
	room := min(max(minRoomFactor*heap, rate*collectEvery*garbage), maxRoom)
	return int(max(minPercent, 100*room/heap))
}

// liveHeap is the heap after the last collection, in bytes.
func liveHeap() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}
