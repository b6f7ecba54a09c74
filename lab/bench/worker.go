package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"time"

	"github.com/prometheus/procfs"

	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/observe/record"
	"assay.dev/assay/internal/plan"
	"assay.dev/assay/internal/run"
	"assay.dev/assay/internal/spec"
	"assay.dev/assay/internal/version"
)

const (
	workerHold    = 12 * time.Second
	workerTries   = 3
	workerBoundMs = 5.0
)

// payment is like the scenario payment, without its checks, random draws and ledger: a
// POST whose JSON answer is parsed, and a GET.
const payment = `
import http from 'k6/http';
import exec from 'k6/execution';
export default function () {
  const id = String(exec.scenario.iterationInTest);
  const body = JSON.stringify({ id: id, run_id: __ENV.ASSAY_RUN, idempotency_key: id, mode: 'upi', amount: 12345, account: 678 });
  const paid = http.post(__ENV.ASSAY_TARGET + '/payments', body, { headers: { 'Content-Type': 'application/json' }, tags: { name: 'pay' } });
  if (paid.status !== 201 || paid.json('state') !== 'CONFIRMED') { throw new Error('pay: ' + paid.status); }
  const stored = http.get(__ENV.ASSAY_TARGET + '/payments/' + id, { tags: { name: 'get_payment' } });
  if (stored.status !== 200 || stored.json('amount') !== 12345) { throw new Error('get_payment: ' + stored.status); }
}
`

// workload is a script at rates that are well below what a worker reaches on one core.
type workload struct {
	name, script string
	requests     float64 // requests of one transaction
	rates        []float64
	slowRate     float64 // for slow targets
}

var workloads = []workload{
	{"one GET", script, 1, []float64{1000, 2000, 4000}, 600},
	{"a payment", payment, 2, []float64{500, 1000, 2000}, 400},
}

// workerVUs are the numbers of VUs of which two thirds wait for a slow target.
var workerVUs = []int{500, 3000}

// workerUse is what a worker used during a hold, with the process that delivers its
// reports.
type workerUse struct {
	vus                   int
	seconds, transactions float64
	cpu                   float64 // s
	memory, own           float64 // resident, B, at most; and the part that is no file's, such as the program's
	sent, received        float64 // B, by the script
}

func (u workerUse) cpus() float64 { return u.cpu / u.seconds }

// perTransaction is the CPU time of a transaction, us.
func (u workerUse) perTransaction() float64 { return 1e6 * u.cpu / u.transactions }

// workerCost measures the CPU time, the memory and the traffic of one worker on one core:
// against the trivial target, where few VUs are in use, and against the same one when it
// answers late. CPU time depends much less on what else the machine does than rates do.
func (b *bench) workerCost(ctx context.Context) error {
	for i, w := range workloads {
		if err := os.WriteFile(b.path(w.file(i)), []byte(w.script), 0o644); err != nil {
			return err
		}
	}
	fast, slow := make([][][]workerUse, len(workloads)), make([][][]workerUse, len(workloads))
	for round := range b.rounds {
		for i, w := range workloads {
			if round == 0 {
				fast[i], slow[i] = make([][]workerUse, len(w.rates)), make([][]workerUse, len(workerVUs))
			}
			for j, rate := range w.rates {
				u, err := b.useOf(ctx, recording{script: w.file(i), target: b.target.url, rate: rate, timeout: time.Second, bound: workerBoundMs})
				if err != nil {
					return fmt.Errorf("%s at %g/s: %w", w.name, rate, err)
				}
				fast[i][j] = append(fast[i][j], u)
			}
			for j, vus := range workerVUs {
				u, err := b.useOf(ctx, b.slow(w, i, vus))
				if err != nil {
					return fmt.Errorf("%s with %d VUs: %w", w.name, vus, err)
				}
				slow[i][j] = append(slow[i][j], u)
			}
		}
	}
	for i, w := range workloads {
		w.print(fast[i], slow[i])
	}
	return nil
}

func (w workload) file(i int) string { return fmt.Sprintf("worker-%d.js", i) }

// slow is a run whose plan has a number of VUs, and whose target answers so late that two
// thirds of them wait for it: as at the edge of its SLO, without the plan's headroom.
func (b *bench) slow(w workload, i, vus int) recording {
	busy := float64(vus) * 2 / 3 / w.slowRate // s, of a transaction
	return recording{
		script: w.file(i), target: fmt.Sprintf("%s/after/%.0f", b.target.url, 1e3*busy/w.requests), rate: w.slowRate,
		timeout: time.Duration(2 * busy * float64(time.Second)), bound: 1e3 * busy * (1 - 2*0.01) / 0.99,
	}
}

// useOf makes a run and measures its worker during the hold. One that fails is tried again,
// since the machine may be shared.
func (b *bench) useOf(ctx context.Context, of recording) (u workerUse, err error) {
	for range workerTries {
		if u, err = b.useOnce(ctx, of); err == nil || ctx.Err() != nil {
			break
		}
	}
	return u, err
}

func (b *bench) useOnce(ctx context.Context, of recording) (u workerUse, err error) {
	var from, to usage
	var failed error
	of.hold = workerHold
	of.progress = func(e run.Event) {
		if e.Stage.Name != plan.Hold || e.Kind != run.Enter && e.Kind != run.Tick {
			return
		}
		now, own, err := b.workersUsage()
		failed = errors.Join(failed, err)
		if e.Kind == run.Enter {
			from = now
		}
		to, u.memory, u.own = now, max(u.memory, now.memory), max(u.own, own)
	}
	r, err := b.record(ctx, of)
	if err := errors.Join(err, failed); err != nil {
		return u, err
	}
	span := judged(r)
	done, _ := r.Timeline.Sum(metric.Transactions, []metric.Label{{Key: "outcome", Value: metric.Completed}}, span)
	if scheduled := of.rate * workerHold.Seconds(); math.Abs(done/scheduled-1) > 0.01 {
		return u, fmt.Errorf("%.0f of %.0f transactions were completed", done, scheduled)
	}
	u.vus = r.Plan.Load.Workers[0].VUs
	u.cpu, u.seconds = to.cpu-from.cpu, to.at.Sub(from.at).Seconds()
	u.transactions = of.rate * u.seconds
	u.sent, _ = r.Timeline.Sum(metric.DataSent, nil, span)
	u.received, _ = r.Timeline.Sum(metric.DataReceived, nil, span)
	u.sent, u.received = u.sent/done, u.received/done
	return u, nil
}

// workersUsage is what the processes of the worker have used so far, those that descend
// from this one and are not the target; and how much of their memory is no file's, B.
func (b *bench) workersUsage() (total usage, own float64, err error) {
	stats, err := processes()
	if err != nil {
		return total, own, err
	}
	total.at = time.Now()
	for pid, stat := range stats {
		if pid == os.Getpid() || pid == b.target.child.PID || !descends(stats, pid, os.Getpid()) {
			continue
		}
		p, err := procfs.NewProc(pid)
		if err != nil {
			return total, own, err
		}
		status, err := p.NewStatus()
		if err != nil {
			return total, own, err
		}
		total.cpu, total.memory, own = total.cpu+stat.CPUTime(), total.memory+float64(stat.ResidentMemory()), own+float64(status.RssAnon)
	}
	return total, own, nil
}

// processes are those that run, by their ids.
func processes() (map[int]procfs.ProcStat, error) {
	all, err := procfs.AllProcs()
	stats := map[int]procfs.ProcStat{}
	for _, p := range all {
		if stat, err := p.Stat(); err == nil { // else it has ended
			stats[p.PID] = stat
		}
	}
	return stats, err
}

func descends(stats map[int]procfs.ProcStat, pid, from int) bool {
	for ; pid > 1; pid = stats[pid].PPID {
		if pid == from {
			return true
		}
	}
	return false
}

func (w workload) print(fast, slow [][]workerUse) {
	fmt.Printf("one worker on one core, %s (%.0f B sent, %.0f B received):\n", w.name, fast[0][0].sent, fast[0][0].received)
	row := func(what string, values []float64) { fmt.Printf("    %-34s %s\n", what, spread(values)) }
	point := func(rate float64, answers string, uses []workerUse) {
		fmt.Printf("  %g/s, the target answers %s, %d VUs\n", rate, answers, uses[0].vus)
		row("CPU, us per transaction", of(uses, workerUse.perTransaction))
		row("resident memory, MiB", of(uses, func(u workerUse) float64 { return u.memory / (1 << 20) }))
		row("without files, MiB", of(uses, func(u workerUse) float64 { return u.own / (1 << 20) }))
	}
	for i, rate := range w.rates {
		point(rate, "at once", fast[i])
	}
	for _, uses := range slow {
		point(w.slowRate, "late", uses)
	}
	var marginal, idle, perVU []float64
	last := len(w.rates) - 1
	for round, low := range fast[0] {
		slope := (fast[last][round].cpus() - low.cpus()) / (w.rates[last] - w.rates[0])
		marginal, idle = append(marginal, 1e6*slope), append(idle, low.cpus()-slope*w.rates[0])
		few, many := slow[0][round], slow[len(slow)-1][round]
		perVU = append(perVU, (many.own-few.own)/float64(many.vus-few.vus)/(1<<20))
	}
	fmt.Printf("  from the lowest to the highest\n")
	row("marginal CPU, us per transaction", marginal)
	row("CPUs without load", idle)
	row("marginal memory, MiB per VU", perVU)
}

// recording is a run of one worker.
type recording struct {
	script, target string
	rate           float64 // transactions per second
	hold, timeout  time.Duration
	bound          float64 // bound of p(99), ms
	progress       func(run.Event)
}

func (b *bench) record(ctx context.Context, of recording) (record.Run, error) {
	dir, err := os.MkdirTemp(b.dir, "run-")
	if err != nil {
		return record.Run{}, err
	}
	defer os.RemoveAll(dir)
	profile := spec.Profile{
		Name: "bench", Flows: []spec.Flow{{Scenario: of.script, Timeout: of.timeout, Load: spec.Load{Unit: "tps", Target: of.rate, Ramp: 2 * time.Second, Baseline: spec.Baseline{Rate: of.rate / 4, For: time.Second}, Hold: of.hold}, SLOs: []spec.SLO{{
			Metric: metric.TransactionDuration, Expression: fmt.Sprintf("p(99)<%g", of.bound), Aggregate: spec.Percentile,
			Quantile: 0.99, Operator: "<", Bound: of.bound,
		}}}},
	}
	o := run.Options{
		ID: "bench", Dir: filepath.Join(dir, "run"), Executable: b.path("generator"), System: run.System{Target: of.target},
		Task: run.Task{File: spec.File{Path: b.path("thresholds.json")}, Profile: profile, Workers: 1, Seed: 1, Scope: spec.ScopeSmoke},
		Tool: version.Tool(), // the binary is of the same build: else it may not join
		Log:  slog.Default(), Progress: of.progress,
	}
	if err := run.Run(ctx, o); err != nil {
		return record.Run{}, err
	}
	return record.Open(o.Dir)
}

// judged is the judged part of a run.
func judged(r record.Run) record.Span { return record.SpanOf(r.Facts.T0, r.Plan.Load.Judged[0]) }
