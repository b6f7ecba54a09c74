package k6

import (
	"os"
	"runtime/debug"
	"runtime/metrics"
)

// Garbage collections are the first disturbance of a worker's latencies: on one core a
// collection of a small heap takes 20 ms, and its backlog as long again. They must be
// rare at the planned rate, which they are not with Go's default target of 100 % of a
// live heap of 20 MiB.
const (
	// collectEvery is the intended time between collections, in seconds.
	collectEvery = 5
	// garbage is that of one transaction with one request, in bytes: 12 KiB measured
	// (make bench), and a reserve for the script's own.
	garbage = 16 << 10
	// minRoomFactor is the minimum of garbage between two collections, as a multiple of
	// the live heap.
	minRoomFactor = 4
	// maxRoom bounds the garbage between two collections, in bytes.
	maxRoom = 1 << 30
	// minPercent is the lowest target in percent: Go's default.
	minPercent = 100
)

// gcTuner adjusts the target of Go's garbage collector. Memory stops growing after
// collectEvery seconds at the planned rate.
type gcTuner struct {
	rate    float64 // transactions per second
	percent int     // current target
	limit   int64   // current limit of the heap
	fixed   bool    // the environment sets the target
}

func newGCTuner(rate float64) *gcTuner {
	return &gcTuner{rate: rate, fixed: os.Getenv("GOGC") != ""}
}

// adjust sets the target for the current live heap. Setting it stops the world for a
// moment, so that small changes are ignored.
func (g *gcTuner) adjust() {
	if g.fixed {
		return
	}
	live := liveHeap()
	// The target is a share of the live heap, which may grow by gigabytes within a second,
	// as by huge answers: it would let as much garbage again through, several times.
	if limit := int64(live) + maxRoom + max(maxRoom, int64(live)); 10*max(limit-g.limit, g.limit-limit) > g.limit {
		debug.SetMemoryLimit(limit)
		g.limit = limit
	}
	percent := gcPercent(live, g.rate)
	if change := percent - g.percent; 10*max(change, -change) <= g.percent {
		return
	}
	debug.SetGCPercent(percent)
	g.percent = percent
}

// gcPercent is the target for a live heap in bytes and a rate in transactions per
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
