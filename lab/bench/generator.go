package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/procfs"

	assay "assay.dev/assay"
	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/observe/record"
)

const (
	generationTimeout = time.Second
	// generationP99Ms is the SLO, from which the number of VUs follows.
	generationP99Ms = 10
	sampleEvery     = 100 * time.Millisecond
)

// generation is one certification at a high rate, against a target that answers at once,
// on all CPUs that this process may use.
type generation struct {
	assay   string // binary
	script  string // in b.dir
	rate    float64
	workers int
}

// Roles of the processes of a generation.
const (
	roleGenerator   = iota // the k6 of all workers
	roleRelay              // the processes that deliver their reports
	roleCoordinator        // assay certify
	roleTarget
	roles
)

var roleNames = [roles]string{"k6", "relay", "coordinator", "target"}

// generated is the result of a generation. Counts are of the whole run, the rest of the
// hold.
type generated struct {
	scheduled    float64
	outcomes     [4]float64 // in the order of metric.Outcomes
	byGenerator  float64    // dropped by the generator
	requests     float64
	answered     int64 // requests, by the target
	acknowledged float64
	vus          int

	held      float64 // scheduled transactions of the hold
	notDone   float64 // transactions of the hold that were not completed
	seconds   float64
	cpu       [roles]float64 // s
	lag, took *metric.Hist   // ms
	stalled   float64        // s
	memory    float64        // resident, B, of all workers
	hostIdle  float64        // CPUs
	hostOther float64        // CPUs that processes of others used, or the hypervisor
	ended     float64        // requests that ended in the hold
}

// perRequest is the CPU time of a request that ended in the hold, us.
func (g generated) perRequest(role int) float64 { return 1e6 * g.cpu[role] / g.ended }

// generator measures what a transaction costs the generator, its target and the
// coordinator, on the same CPUs; with -before, of two builds in turn.
func (b *bench) generator(ctx context.Context) error {
	if err := b.writeScripts(); err != nil {
		return err
	}
	target, err := b.serve(answerArg)
	if err != nil {
		return err
	}
	defer func() { _ = target.stop() }()
	binaries := []string{b.assay}
	if b.before != "" {
		binaries = append(binaries, b.before)
	}
	for _, script := range strings.Split(b.scripts, ",") {
		for _, n := range strings.Split(b.workers, ",") {
			workers, err := strconv.Atoi(n)
			if err != nil {
				return fmt.Errorf("number of workers: %w", err)
			}
			for _, rate := range b.rates {
				fmt.Printf("%s at %g/s, %d workers:\n", script, rate, workers)
				costs := make([][]float64, len(binaries))
				for range b.rounds {
					for i, binary := range binaries {
						g, err := b.generate(ctx, target, generation{binary, script, rate, workers})
						if err != nil {
							return fmt.Errorf("%s at %g/s: %w", script, rate, err)
						}
						g.print(binary)
						costs[i] = append(costs[i], g.perRequest(roleGenerator))
					}
				}
				fmt.Printf("  CPU of k6, us per request  %s\n", spread(costs[0]))
				if b.before != "" {
					var ratios []float64
					for i, now := range costs[0] {
						ratios = append(ratios, now/costs[1][i])
					}
					fmt.Printf("  ratio to %s  %s\n", b.before, interval(ratios))
				}
			}
		}
	}
	return nil
}

func (g generated) print(binary string) {
	all := g.outcomes
	fmt.Printf("  %s: scheduled %.0f = completed %.0f + failed %.0f + timed out %.0f + dropped %.0f (%.0f by the generator); requests %.0f, answered %d, acknowledged %.0f; %d VUs\n",
		filepath.Base(binary), g.scheduled, all[0], all[1], all[2], all[3], g.byGenerator, g.requests, g.answered, g.acknowledged, g.vus)
	quantiles := func(h *metric.Hist) string {
		var text []string
		for _, q := range []float64{0.5, 0.95, 0.99, 1} {
			v, _ := h.Quantile(q)
			text = append(text, fmt.Sprintf("%.2f", v))
		}
		return strings.Join(text, " / ")
	}
	fmt.Printf("    hold: %.0f/s scheduled, %.0f/s requests, %.0f not completed; ms p50/p95/p99/max of the lag %s, of transactions %s; stalled %.0f ms; resident %.0f MiB\n",
		g.held/g.seconds, g.ended/g.seconds, g.notDone, quantiles(g.lag), quantiles(g.took), 1e3*g.stalled, g.memory/(1<<20))
	fmt.Printf("    CPU, us per request:")
	total := 0.0
	for role, name := range roleNames {
		fmt.Printf(" %s %.2f", name, g.perRequest(role))
		total += g.cpu[role]
	}
	fmt.Printf("; CPUs: in use %.2f, by others %.2f, idle %.2f\n", total/g.seconds, g.hostOther, g.hostIdle)
}

// writeScripts writes the scenarios of the project, and the scripts of this program.
func (b *bench) writeScripts() error {
	return errors.Join(
		os.WriteFile(b.path("get.js"), []byte(script), 0o644),
		fs.WalkDir(assay.Files, "scenarios", func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return errors.Join(err, os.MkdirAll(b.path(path), 0o755))
			}
			data, err := assay.Files.ReadFile(path)
			if err != nil {
				return err
			}
			return os.WriteFile(b.path(path), data, 0o644)
		}),
	)
}

func (b *bench) generate(ctx context.Context, target *target, of generation) (g generated, err error) {
	dir, err := os.MkdirTemp(b.dir, "run-")
	if err != nil {
		return g, err
	}
	defer os.RemoveAll(dir)
	thresholds, err := json.Marshal(map[string]any{"version": 1, "profiles": map[string]any{"generator": map[string]any{
		"scenario": of.script, "timeout": generationTimeout.String(),
		"load": map[string]any{
			"unit": "tps", "target": of.rate, "warmup": "4s", "baseline": map[string]any{"rate": of.rate / 4, "for": "2s"},
			"ramp": "4s", "hold": b.hold.String(), "cooldown": "1s",
		},
		"slo": map[string]any{metric.TransactionDuration: []string{fmt.Sprintf("p(99)<%d", generationP99Ms)}},
	}}})
	if err != nil {
		return g, err
	}
	if err := os.WriteFile(b.path("generator.json"), thresholds, 0o644); err != nil {
		return g, err
	}
	before, err := target.served()
	if err != nil {
		return g, err
	}
	cmd := exec.CommandContext(ctx, of.assay, "certify", "generator", "--quiet", "--scope", "smoke", "--workers", strconv.Itoa(of.workers),
		"--thresholds", b.path("generator.json"), "--target", target.url, "--out", filepath.Join(dir, "run"))
	var out bytes.Buffer
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &out, &out
	if err := cmd.Start(); err != nil {
		return g, err
	}
	watch := watchRoles(cmd.Process.Pid, target.child.PID)
	err = cmd.Wait()
	samples := watch()
	var exit *exec.ExitError
	if err != nil && !(errors.As(err, &exit) && slices.Contains(verdicts, exit.ExitCode())) {
		return g, fmt.Errorf("assay certify: %w: %s", err, strings.TrimSpace(out.String()))
	}
	after, err := target.served()
	if err != nil {
		return g, err
	}
	r, err := record.Open(filepath.Join(dir, "run"))
	if err != nil {
		return g, fmt.Errorf("%w: %s", err, strings.TrimSpace(out.String()))
	}
	g = read(r)
	g.answered = after - before
	from, to := at(samples, time.Unix(judged(r).From, 0)), at(samples, time.Unix(judged(r).To, 0))
	g.seconds = to.at.Sub(from.at).Seconds()
	own := 0.0
	for role := range roles {
		g.cpu[role] = to.cpu[role] - from.cpu[role]
		own += g.cpu[role]
	}
	g.hostIdle = (to.idle - from.idle) / g.seconds
	g.hostOther = (to.busy - from.busy - own) / g.seconds
	g.memory = to.memory
	sum := 0.0
	for _, n := range g.outcomes {
		sum += n
	}
	if sum != g.scheduled {
		return g, fmt.Errorf("%.0f transactions were scheduled, and %.0f have an outcome", g.scheduled, sum)
	}
	return g, nil
}

// read reads the counts of a run, and the histograms of its hold.
func read(r record.Run) (g generated) {
	everything := record.Span{From: r.Facts.T0.Unix() - 60, To: r.Facts.T0.Unix() + int64(r.Plan.Load.Duration()/time.Second) + 60}
	hold := judged(r)
	sum := func(name string, span record.Span, labels ...metric.Label) float64 {
		n, _ := r.Timeline.Sum(name, labels, span)
		return n
	}
	g.scheduled = sum(metric.TransactionsScheduled, everything)
	for i, outcome := range metric.Outcomes {
		g.outcomes[i] = sum(metric.Transactions, everything, metric.Label{Key: "outcome", Value: outcome})
	}
	g.byGenerator = sum(metric.GeneratorDropped, everything)
	g.requests = sum(metric.Requests, everything)
	g.acknowledged = sum("ledger_acknowledged", everything)
	for _, w := range r.Plan.Load.Workers {
		g.vus += w.VUs
	}
	g.held = sum(metric.TransactionsScheduled, hold)
	g.ended = sum(metric.EndedRequests, hold)
	g.notDone = g.held - sum(metric.Transactions, hold, metric.Label{Key: "outcome", Value: metric.Completed})
	g.lag, g.took = r.Timeline.Hist(metric.GeneratorLag, nil, hold), r.Timeline.Hist(metric.TransactionDuration, nil, hold)
	g.stalled = sum(metric.GeneratorStall, hold) / 1e3
	return g
}

// roleUsage is what the processes of a generation, and the host, have used so far.
type roleUsage struct {
	at         time.Time
	cpu        [roles]float64 // s
	memory     float64        // B, of k6
	busy, idle float64        // s, of all CPUs
}

// watchRoles samples what the descendants of a process, and the target, use. stop returns
// the samples.
func watchRoles(pid, target int) (stop func() []roleUsage) {
	ended, result := make(chan struct{}), make(chan []roleUsage)
	go func() {
		var samples []roleUsage
		tick := time.NewTicker(sampleEvery)
		defer tick.Stop()
		for {
			select {
			case <-ended:
				result <- samples
				return
			case <-tick.C:
				if u, err := usageByRole(pid, target); err == nil {
					samples = append(samples, u)
				}
			}
		}
	}()
	return func() []roleUsage { close(ended); return <-result }
}

func usageByRole(pid, target int) (u roleUsage, err error) {
	stats, err := processes()
	if err != nil {
		return u, err
	}
	proc, err := procfs.NewDefaultFS()
	if err != nil {
		return u, err
	}
	host, err := proc.Stat()
	if err != nil {
		return u, err
	}
	u.at = time.Now()
	t := host.CPUTotal
	u.busy, u.idle = t.User+t.Nice+t.System+t.IRQ+t.SoftIRQ+t.Steal, t.Idle+t.Iowait
	for id, stat := range stats {
		role := roleTarget
		if id != target {
			switch {
			case id == pid:
				role = roleCoordinator
			case !descends(stats, id, pid):
				continue
			case stat.PPID == pid:
				role = roleRelay
			default:
				role = roleGenerator
				u.memory += float64(stat.ResidentMemory())
			}
		}
		u.cpu[role] += stat.CPUTime()
	}
	return u, nil
}

// at is the first sample after an instant.
func at(samples []roleUsage, when time.Time) roleUsage {
	i, _ := slices.BinarySearchFunc(samples, when, func(u roleUsage, t time.Time) int { return u.at.Compare(t) })
	switch {
	case len(samples) == 0:
		return roleUsage{at: when}
	case i == 0:
		return samples[0]
	case i == len(samples):
		return samples[i-1]
	}
	return samples[i]
}
