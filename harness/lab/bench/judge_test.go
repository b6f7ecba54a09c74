package main

import (
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"assay/harness/judge/certificate"
	"assay/harness/judge/verdict"
	"assay/harness/lab/bench/longrun"
	"assay/harness/observe/record"
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
	c := certificate.Build(r, v)
	after := read()
	runtime.KeepAlive(r)
	return memoryUse{float64(after.TotalAlloc - before.TotalAlloc), float64(after.HeapAlloc) - float64(before.HeapAlloc)}, c.Verdict
}

// The cost of judging depends on the seconds and series of a run, not on its requests.
// Bytes are measured instead of time, as they are the same on every machine.
func TestJudgingCostDoesNotDependOnRequests(t *testing.T) {
	shape := longrun.Shape{Workers: 2, Hold: time.Minute, Rate: 2000} // two minutes with the other stages
	use := func(minutes, times int) memoryUse {
		s := shape
		s.Hold += time.Duration(minutes-2) * time.Minute
		s.Rate *= float64(times)
		u, outcome := memoryUseOf(t, s)
		t.Logf("%d minutes at %g/s: %.1f MB allocated, %.1f MB kept, %s", minutes, s.Rate, u.allocated/1e6, u.kept/1e6, outcome)
		if outcome == verdict.Invalid.String() {
			t.Errorf("the record of %d minutes at %g/s is %s", minutes, s.Rate, outcome)
		}
		return u
	}
	two, four, eight, many := use(2, 1), use(4, 1), use(8, 1), use(2, 10)
	// Growth over the last four minutes, relative to that over the two before, without
	// the constant cost.
	if grown := (eight.allocated - four.allocated) / (four.allocated - two.allocated); grown > 3 {
		t.Errorf("four more minutes allocate %.2f times what two more do", grown)
	}
	if grown := (eight.kept - four.kept) / (four.kept - two.kept); grown > 2.5 {
		t.Errorf("four more minutes keep %.2f times what two more do", grown)
	}
	// A second of 2 workers has 240 values and 33 histograms.
	if bytes := (eight.kept - two.kept) / (6 * 60); bytes > 50_000 {
		t.Errorf("each second keeps %.0f bytes", bytes)
	}
	if grown := many.allocated / two.allocated; grown > 1.5 {
		t.Errorf("ten times the requests allocate %.2f times as much", grown)
	}
	if grown := many.kept / two.kept; grown > 1.5 {
		t.Errorf("ten times the requests keep %.2f times as much", grown)
	}
}
