//go:build live

package main

import (
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"assay.dev/assay/internal/judge/certificate/build"
	"assay.dev/assay/internal/judge/verdict"
	"assay.dev/assay/internal/observe/record"
	"assay.dev/assay/internal/testing/budget"
	"assay.dev/assay/lab/bench/longrun"
)

// memoryUse is the memory of judging a record, in bytes: in total, and that which stays
// in use.
type memoryUse struct{ allocated, kept float64 }

func memoryUseOf(t *testing.T, s longrun.Shape) (u memoryUse, outcome string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "run")
	if err := s.Write(dir); err != nil {
		t.Fatal(err)
	}
	read := func() (m runtime.MemStats) {
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m
	}
	before := read()
	r, err := record.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	v := verdict.Judge(r)
	c := build.Certificate(r, v)
	after := read()
	runtime.KeepAlive(r)
	return memoryUse{float64(after.TotalAlloc - before.TotalAlloc), float64(after.HeapAlloc) - float64(before.HeapAlloc)}, c.Verdict
}

// The cost of judging depends on the seconds and series of a run, not on its requests.
// Bytes are measured instead of time, as they are the same on every machine.
func TestJudgingCostDoesNotDependOnRequests(t *testing.T) {
	budget.CPUs(t, 1)
	shape := longrun.Shape{Workers: 1, Hold: 30 * time.Second, Rate: 1000} // a minute and a half with the other stages
	use := func(more time.Duration, times int) memoryUse {
		s := shape
		s.Hold += more
		s.Rate *= float64(times)
		u, outcome := memoryUseOf(t, s)
		t.Logf("%d s at %g/s: %.1f MB allocated, %.1f MB kept, %s", s.Seconds(), s.Rate, u.allocated/1e6, u.kept/1e6, outcome)
		if outcome == verdict.Invalid.String() {
			t.Errorf("the record of %d s at %g/s is %s", s.Seconds(), s.Rate, outcome)
		}
		return u
	}
	short, longer, long, many := use(0, 1), use(90*time.Second, 1), use(270*time.Second, 1), use(0, 10)
	// Growth over the last three minutes, relative to that over half of it before, without
	// the constant cost.
	if grown := (long.allocated - longer.allocated) / (longer.allocated - short.allocated); grown > 3 {
		t.Errorf("three more minutes allocate %.2f times what half of it does", grown)
	}
	if grown := (long.kept - longer.kept) / (longer.kept - short.kept); grown > 2.5 {
		t.Errorf("three more minutes keep %.2f times what half of it does", grown)
	}
	// A second of a worker and of the collectors has 180 values and 18 histograms.
	if bytes := (long.kept - short.kept) / 270; bytes > 30_000 {
		t.Errorf("each second keeps %.0f bytes", bytes)
	}
	if grown := many.allocated / short.allocated; grown > 1.5 {
		t.Errorf("ten times the requests allocate %.2f times as much", grown)
	}
	if grown := many.kept / short.kept; grown > 1.5 {
		t.Errorf("ten times the requests keep %.2f times as much", grown)
	}
}
