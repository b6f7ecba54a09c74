//go:build live

package run_test

import (
	"encoding/hex"
	"maps"
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"assay.dev/assay/internal/judge/verdict"
	"assay.dev/assay/internal/load/arrivals"
	"assay.dev/assay/internal/observe/ledger"
	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/observe/record"
	"assay.dev/assay/internal/rulebook"
	"assay.dev/assay/internal/run"
	"assay.dev/assay/internal/testing/budget"
)

// checkAccounted fails the test unless every scheduled transaction of the record has
// exactly one outcome, second by second. It returns how many were scheduled, and the
// count of each outcome.
func checkAccounted(t *testing.T, r record.Run) (scheduled int64, outcomes map[string]int64) {
	t.Helper()
	due := r.Timeline.BySecond(metric.TransactionsScheduled, nil)
	ended := map[int64]float64{}
	outcomes = map[string]int64{}
	for _, o := range metric.Outcomes {
		for second, n := range r.Timeline.BySecond(metric.Transactions, []metric.Label{{Key: "outcome", Value: o}}) {
			ended[second] += n
			outcomes[o] += int64(n)
		}
	}
	for second, n := range due {
		scheduled += int64(n)
		if ended[second] != n {
			t.Errorf("second %d: %g scheduled, %g with an outcome", second-r.Facts.T0.Unix(), n, ended[second])
		}
		delete(ended, second)
	}
	maps.DeleteFunc(ended, func(_ int64, n float64) bool { return n == 0 })
	if len(ended) > 0 {
		t.Errorf("outcomes in seconds without a scheduled transaction: %v", ended)
	}
	if n := r.Timeline.Hist(metric.TransactionDuration, nil, record.All).Count(); int64(n) != scheduled {
		t.Errorf("%d transactions have a latency, %d were scheduled", n, scheduled)
	}
	return scheduled, outcomes
}

// dueBy returns how many slots of the plan's schedule are due before end, an offset since
// t0.
func dueBy(r record.Run, end time.Duration) (n int64) {
	p := r.Plan.Load
	s := arrivals.NewSchedule(p.Stages, p.Seed, p.Even, arrivals.Whole)
	for due, ok := s.Next(); ok && due < end; due, ok = s.Next() {
		n++
	}
	return n
}

// brokenRules returns the rules that make the run INVALID, with their details.
func brokenRules(v verdict.Verdict) map[string]string {
	all := map[string]string{}
	for _, r := range v.Rules {
		if r.Outcome == verdict.Invalid {
			all[r.ID] = r.Detail
		}
	}
	return all
}

// expectPass makes a run that must PASS; see expect.
func expectPass(t *testing.T, test func(t *testing.T) verdict.Verdict) {
	t.Helper()
	expect(t, verdict.Pass, test)
}

// expect makes a run that must have this outcome, PASS or FAIL. Beside other tests, which
// starve generator, service and database of CPU, slowness may keep the run from it; the
// long tests make the same run alone, and insist.
func expect(t *testing.T, want verdict.Outcome, test func(t *testing.T) verdict.Verdict) {
	t.Helper()
	v := test(t)
	switch {
	case v.Outcome == want:
	case alone || !onlySlow(v, want):
		logRules(t, v)
		t.Errorf("verdict %s, want %s: %s", v.Outcome, want, v.Claim)
	default:
		t.Logf("too slow for %s: %s", want, v.Claim)
	}
}

// cpus declares the CPUs that a test needs.
func cpus(t *testing.T, n float64) {
	t.Helper()
	if alone {
		n = math.Inf(1)
	}
	budget.CPUs(t, n)
}

// onlySlow reports whether all that keeps a run from the outcome is that transactions
// started or ended late.
func onlySlow(v verdict.Verdict, want verdict.Outcome) bool {
	if want == verdict.Fail && v.Outcome == verdict.Pass {
		return false
	}
	for _, r := range v.Rules {
		slow := r.ID == "steady" || r.ID == "start-skew" || rulebook.Blames(r.ID) == rulebook.Generator
		if (r.Outcome == verdict.Invalid || r.Outcome == verdict.Fail) && !slow {
			return false
		}
	}
	for _, s := range v.SLOs {
		slow := s.Metric == verdict.ThroughputMetric || s.Metric == metric.TransactionDuration || s.Metric == metric.RequestDuration
		if s.Outcome == verdict.Fail && !slow && want == verdict.Pass {
			return false
		}
	}
	return true
}

func logRules(t *testing.T, v verdict.Verdict) {
	t.Helper()
	for _, r := range v.Rules {
		t.Logf("rule %-16s %-12s %s", r.ID, r.Outcome, r.Detail)
	}
	for _, s := range v.SLOs {
		t.Logf("slo  %s %s: %s", s.Metric, s.Expression, s.Outcome)
	}
}

// acknowledged counts the identities that the record's ledger files acknowledge, also of a
// run without a database.
func acknowledged(t *testing.T, o run.Options) map[string]int { return acknowledgedIn(t, o.Dir) }

func acknowledgedIn(t *testing.T, dir string) map[string]int {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, record.EvidenceDir, "ledger", "acknowledged-*.zst"))
	if err != nil {
		t.Fatal(err)
	}
	count := map[string]int{}
	for _, path := range paths {
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		z, err := zstd.NewReader(f)
		if err != nil {
			t.Fatal(err)
		}
		entries, err := ledger.ParseText(z)
		z.Close()
		_ = f.Close()
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			count[hex.EncodeToString(e.Hash[:])]++
		}
	}
	return count
}
