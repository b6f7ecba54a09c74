package k6

import (
	"os"
	"runtime"
	"runtime/debug"
)

// A worker's garbage collections are what its latencies suffer from first: on
// one core a collection of a small heap takes 20 ms, and what falls due
// meanwhile is worked off for as long again. So they must be rare at the rate
// that is asked for, which a target in percent of a live heap of 20 MiB is not.
const (
	// leastGC is the least target in percent of the live heap.
	leastGC = 400
	// collectEvery is how many seconds apart collections are meant to be.
	collectEvery = 5
	// garbage of one transaction with one request, in bytes: 12 KiB measured
	// (make bench), with room for what a script does with the answer.
	garbage = 16 << 10
	// mostRoom bounds what may gather between two collections.
	mostRoom = 1 << 30
)

// setCollector sets the collector's target, unless the environment has set it.
func setCollector(percent int) {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(percent)
	}
}

// gcPercent is the target for a live heap of so many bytes and a rate in
// transactions a second. Memory is at its level after collectEvery seconds at
// that rate, and stays there.
func gcPercent(live uint64, rate float64) int {
	room := min(rate*collectEvery*garbage, mostRoom)
	return int(max(leastGC, 100*room/float64(max(live, 1))))
}

// liveHeap collects, and gives the bytes that remain.
func liveHeap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
