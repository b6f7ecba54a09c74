package diagnose

import (
	"maps"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"assay.dev/assay/internal/judge/verdict"
	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/observe/record"
	"assay.dev/assay/internal/observe/wait"
	"assay.dev/assay/internal/spec"
)

// healthy is a transaction of 45 ms.
func healthy() map[string]float64 {
	return map[string]float64{
		Generator: 1, Network: 2, Service: 5, Downstream: 20, Pool: 1, ConnectionStorm: 1,
		wait.Commit: 5, wait.Binlog: 5, wait.CPU: 3, wait.RowLock: 1, "metadata lock": 0.5, "latch": 0.5,
	}
}

// with is a copy in which some components take more.
func with(parts map[string]float64, more map[string]float64) map[string]float64 {
	parts = maps.Clone(parts)
	for name, ms := range more {
		parts[name] += ms
	}
	return parts
}

func TestTheComponentThatGrewIsNamed(t *testing.T) {
	for _, grown := range []string{
		Network, Service, Downstream, Pool, ConnectionStorm, wait.Commit, wait.Binlog, wait.CPU, wait.RowLock, "metadata lock",
		"latch", wait.BufferPool, "table lock", "replication", wait.Other,
	} {
		w := system{base: healthy(), hold: with(healthy(), map[string]float64{grown: 400, Downstream: 10}), noise: 0.2}
		b := w.diagnosed().Bottleneck
		want, class := grown, ""
		if slices.Contains(classes(w.hold), grown) {
			want, class = wait.ComponentOf(grown), grown
		}
		if b.Component != want || *b.Confidence < MinConfidence || *b.GrowthMs < 380 || *b.GrowthMs > 420 {
			t.Errorf("%s grew: %+v", grown, b)
		}
		if class != b.Class || class != "" && b.Event != "event of "+class {
			t.Errorf("%s grew: class %q, event %q", grown, b.Class, b.Event)
		}
		if b.RunnerUp == nil {
			t.Errorf("%s grew: no runner-up", grown)
		}
	}
}

// The split gives each component its time.
func TestSplitAddsUp(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := system{base: healthy(), hold: map[string]float64{}, seed: rapid.Uint64().Draw(rt, "seed")}
		total := 0.0
		for _, name := range slices.Sorted(maps.Keys(healthy())) {
			w.hold[name] = rapid.Float64Range(0, 500).Draw(rt, name)
			total += w.hold[name]
		}
		sum, byName := 0.0, map[string]float64{}
		for _, c := range w.diagnosed().Split {
			sum += *c.MsPerTransaction
			byName[c.Component] = *c.MsPerTransaction
			if *c.MsPerTransaction < -1e-6 || *c.Lower > *c.Upper || *c.Lower > *c.MsPerTransaction-*c.BaselineMsPerTransaction+1e-6 || *c.Upper < *c.MsPerTransaction-*c.BaselineMsPerTransaction-1e-6 {
				rt.Errorf("%+v", c)
			}
		}
		if math.Abs(sum-total) > 1e-6*total {
			rt.Errorf("%g ms, of %g", sum, total)
		}
		for name, ms := range w.hold {
			if slices.Contains(classes(w.hold), name) {
				name = wait.ComponentOf(name)
			}
			if math.Abs(byName[name]-ms) > 1e-6*max(1, total) {
				rt.Errorf("%s takes %g ms, not %g", name, byName[name], ms)
			}
		}
	})
}

// No component is named if no SLO is broken.
func TestNothingToExplain(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		all := slices.DeleteFunc(slices.Sorted(maps.Keys(healthy())), func(name string) bool { return name == Generator }) // which has its own rules
		grown := rapid.SampledFrom(all).Draw(rt, "grown")
		b := system{base: healthy(), hold: with(healthy(), map[string]float64{grown: 50}), noise: 0.2, seed: rapid.Uint64().Draw(rt, "seed")}.diagnosed().Bottleneck
		if b.Component != None || b.Confidence != nil || b.Class != "" || b.Remedy != "" {
			rt.Errorf("%+v", b)
		}
	})
}

// If two components grew by about the same, and vary, neither is named.
func TestCloseRunnerUpIsUndetermined(t *testing.T) {
	b := system{
		base: healthy(), hold: with(healthy(), map[string]float64{wait.Binlog: 200, Downstream: 195}),
		jitter: map[string]float64{wait.Binlog: 0.8, Downstream: 0.8},
	}.diagnosed().Bottleneck
	if b.Component != Undetermined || *b.Confidence >= MinConfidence || b.RunnerUp == nil {
		t.Errorf("%+v", b)
	}
}

// Time in a queue is charged to what the queue waits for, if that became slower.
func TestPoolIsChargedToSlowStatements(t *testing.T) {
	slow := with(healthy(), map[string]float64{wait.Binlog: 100, Pool: 300})
	for name, c := range map[string]struct {
		w    system
		want string
	}{
		"slow statements":           {system{base: healthy(), hold: slow, noise: 0.1}, "binlog"},
		"a little slower":           {system{base: healthy(), hold: with(healthy(), map[string]float64{wait.Binlog: 10, Pool: 300}), noise: 0.1}, Pool},
		"as fast as before":         {system{base: healthy(), hold: with(healthy(), map[string]float64{Pool: 300}), noise: 0.1}, Pool},
		"slower, but a pool of few": {system{base: healthy(), hold: slow, noise: 0.1, connections: 0.4}, Pool},
	} {
		b := c.w.diagnosed().Bottleneck
		if b.Component != c.want || *b.Confidence < MinConfidence {
			t.Errorf("%s: %+v", name, b)
		}
		said := strings.Contains(strings.Join(b.Evidence, " "), "waiting for a connection is charged to the statements")
		if said != (c.want != Pool) {
			t.Errorf("%s: the evidence is %q", name, b.Evidence)
		}
	}
}

// In a database that lacks CPU, sessions show waits of all kinds.
func TestDatabaseWithoutCPU(t *testing.T) {
	grown := with(healthy(), map[string]float64{wait.Binlog: 300, wait.Commit: 100, wait.CPU: 20})
	for name, c := range map[string]struct {
		cpu, queue float64
		samples    float64 // per second
		slow       float64 // ms per sample, from the hold on
		want       string
	}{
		"enough":                    {0.5, 0.2, 10, 1, "binlog"},
		"noise of others":           {0.2, 3, 10, 1, "binlog"},
		"starved by others":         {0.2, 6, 10, 20, CPU},
		"a burst, and CPU in use":   {0.8, 12, 10, 1, Undetermined},
		"all used up by itself":     {1.9, 1, 10, 20, CPU},
		"not measured":              {0, 0, 10, 1, "binlog"},
		"not measured, and slow":    {0, 0, 10, 20, Undetermined},
		"enough, and slow":          {0.5, 0.2, 10, 20, "binlog"},
		"starved, hardly sampled":   {0.2, 6, 1, 20, CPU},
		"enough, hardly sampled":    {0.5, 0.2, 1, 1, Undetermined},
		"enough, sampled with gaps": {0.5, 0.2, 9, 1, "binlog"},
	} {
		b := system{base: healthy(), hold: grown, noise: 0.1, cpu: c.cpu, queue: c.queue, samples: c.samples, slowSamples: c.slow}.diagnosed().Bottleneck
		if b.Component != c.want {
			t.Errorf("%s: %+v", name, b)
		}
	}
}

func TestServiceWithoutCPU(t *testing.T) {
	grown := with(healthy(), map[string]float64{Network: 200, Service: 150})
	for cpu, want := range map[float64]string{0.5: Network, 0.97: Service} {
		if b := (system{base: healthy(), hold: grown, noise: 0.1, serviceCPU: cpu}).diagnosed().Bottleneck; b.Component != want {
			t.Errorf("at %g of a CPU: %+v", cpu, b)
		}
	}
}

// Row locks are held as long as their holders' commits take.
func TestRowLocksFollowTheirHolders(t *testing.T) {
	for name, c := range map[string]struct {
		more     map[string]float64
		blockers map[string]float64
		want     string
		says     string
	}{
		"one row for all":            {map[string]float64{wait.RowLock: 300}, map[string]float64{wait.Binlog: 9, wait.CPU: 2}, "row lock", "the holder of the row lock was in binlog"},
		"commits that became slower": {map[string]float64{wait.RowLock: 200, wait.Binlog: 150}, map[string]float64{wait.Binlog: 9, wait.CPU: 2}, "binlog", ""},
		"held by an idle session":    {map[string]float64{wait.RowLock: 300}, map[string]float64{"idle": 10}, "row lock", "idle in an open transaction"},
		"holders not known":          {map[string]float64{wait.RowLock: 300, wait.Binlog: 200}, nil, "row lock", ""},
	} {
		b := system{base: healthy(), hold: with(healthy(), c.more), noise: 0.1, blockers: c.blockers}.diagnosed().Bottleneck
		if b.Component != c.want || !strings.Contains(strings.Join(b.Evidence, " "), c.says) {
			t.Errorf("%s: %+v", name, b)
		}
	}
}

// Components that were not measured are not guessed.
func TestUnmeasuredIsUndetermined(t *testing.T) {
	grown := func(name string) map[string]float64 { return with(healthy(), map[string]float64{name: 400}) }
	for name, c := range map[string]struct {
		w    system
		says string
	}{
		"a service without metrics": {system{base: healthy(), hold: grown(Service), noise: 0.1, noService: true}, "reports too little to tell which"},
		"a database not sampled":    {system{base: healthy(), hold: grown(wait.Binlog), noise: 0.1, noDatabase: true}, "no sample of the database was taken"},
		"nowhere":                   {system{base: with(healthy(), map[string]float64{Residual: 1}), hold: grown(Residual), noise: 0.1}, "in no measured component"},
		"transactions fail":         {system{base: healthy(), hold: with(healthy(), map[string]float64{wait.Binlog: 1}), noise: 0.1, failing: 0.15}, "which the time of transactions does not explain"},
		"a pool, no baseline":       {system{base: healthy(), hold: grown(Pool), noise: 0.1, noBaseline: true}, "cannot be distinguished from"},
		"nothing became worse":      {system{base: grown(wait.Binlog), hold: grown(wait.Binlog), noBaseline: true, noDatabase: true, noService: true}, "reports too little to tell which"},
	} {
		b := c.w.diagnosed().Bottleneck
		if b.Component != Undetermined || !strings.Contains(b.Sentence, c.says) || b.Remedy != "" {
			t.Errorf("%s: %+v", name, b)
		}
	}
}

// If the baseline breaks the SLO too, the size of a component counts, not its growth.
func TestBaselineThatBreaksTheSLO(t *testing.T) {
	slow := with(healthy(), map[string]float64{Downstream: 400})
	b := system{base: slow, hold: with(slow, map[string]float64{wait.Binlog: 20}), noise: 0.1}.diagnosed().Bottleneck
	if b.Component != Downstream || !strings.Contains(b.Sentence, "which already breaks an SLO") {
		t.Errorf("%+v", b)
	}
}

// A generator that broke its rules reads responses late, and its bursts fill queues. If
// the database lacks CPU too, nothing is named.
func TestStarvedGenerator(t *testing.T) {
	w := system{base: healthy(), hold: with(healthy(), map[string]float64{Generator: 100, Network: 100, Pool: 100, wait.Binlog: 120}), noise: 0.1, starvedWorker: true}
	if b := w.diagnosed().Bottleneck; b.Component != Generator || *b.GrowthMs < 400 {
		t.Errorf("%+v", b)
	}
	w.hold[wait.Engine], w.cpu, w.queue = 800, 1.8, 5
	if b := w.diagnosed().Bottleneck; b.Component != Undetermined || !strings.Contains(b.Sentence, "the generator broke rule generator-") {
		t.Errorf("%+v", b)
	}
}

// A group commit wakes many threads at once: a saturated run queue is no lack of CPU if
// some CPUs are idle, but it is if other processes use most of them.
func TestBurstsOfCommits(t *testing.T) {
	for _, c := range []struct {
		used, idle float64 // CPUs used and idle, of two
		want       string
	}{
		{0.8, 0.3, "binlog"},
		{0.8, 0.1, Undetermined},
		{0.2, 1.5, "binlog"},
		{0.2, 0.1, CPU},
		{0.55, 0, CPU},
	} {
		b := system{base: healthy(), hold: with(healthy(), map[string]float64{wait.Binlog: 400}), noise: 0.1, cpu: c.used, queue: 12, idle: c.idle}.diagnosed().Bottleneck
		if b.Component != c.want {
			t.Errorf("%+v: %+v", c, b)
		}
	}
	for _, used := range []float64{0.2, 0.8} {
		b := system{
			base: healthy(), hold: with(healthy(), map[string]float64{wait.Binlog: 400}), noise: 0.1, cpu: used, queue: 12,
			frames: without(metric.ProcessCPUIdle),
		}.diagnosed().Bottleneck
		if b.Component != Undetermined {
			t.Errorf("%g CPUs used, idle time unknown: %+v", used, b)
		}
	}
}

// As in report A: the SELECT is merely the most frequent statement.
func TestSelectThatOnlyLooksSlow(t *testing.T) {
	slow := with(healthy(), map[string]float64{wait.Binlog: 100, Pool: 300})
	f := system{base: healthy(), hold: slow, noise: 0.1, selects: 0.4}.diagnosed()
	says := "The most frequent SELECT only looks slow: SELECT a FROM t WHERE id = ? takes 0.40 ms in the database; its caller also sees the wait for a connection before it"
	if !strings.Contains(strings.Join(f.Bottleneck.Evidence, " "), says) {
		t.Errorf("%q", f.Bottleneck.Evidence)
	}
	f = system{base: healthy(), hold: slow, noise: 0.1, selects: 20}.diagnosed()
	if strings.Contains(strings.Join(f.Bottleneck.Evidence, " "), "only looks slow") {
		t.Errorf("a slow SELECT only looks slow: %q", f.Bottleneck.Evidence)
	}
}

// Every experiment that would confirm a component exists.
func TestExperimentsExist(t *testing.T) {
	for component, known := range descriptions {
		for _, name := range known.Experiments {
			if _, err := os.Stat("../../../scenarios/experiments/" + name + ".json"); err != nil {
				t.Errorf("%s: %v", component, err)
			}
		}
	}
}

func TestStatementThatScans(t *testing.T) {
	grown := with(healthy(), map[string]float64{wait.Engine: 400})
	for rows, want := range map[float64]bool{50_000: true, 10: false} {
		f := system{base: healthy(), hold: grown, noise: 0.1, cpu: 1.5, queue: 5, rows: rows}.diagnosed()
		if got := strings.Contains(strings.Join(f.Bottleneck.Evidence, " "), "an index may be missing"); got != want || f.Bottleneck.Component != CPU {
			t.Errorf("%g rows: %+v", rows, f.Bottleneck)
		}
	}
	// Nearly as slow at the baseline, which breaks the SLO too.
	base := with(healthy(), map[string]float64{wait.Engine: 400})
	f := system{base: base, hold: with(base, map[string]float64{wait.Engine: 500}), noise: 0.1, cpu: 1.9, queue: 5, rows: 50_000}.diagnosed()
	if !strings.Contains(strings.Join(f.Bottleneck.Evidence, " "), "an index may be missing") || f.Bottleneck.Component != CPU {
		t.Errorf("slow at the baseline too: %+v", f.Bottleneck)
	}
}

// A change of latency within the judged window is reported, with its component.
func TestChangeWithinTheWindow(t *testing.T) {
	says := func(w system) string { return strings.Join(w.diagnosed().Bottleneck.Evidence, " ") }
	w := system{base: healthy(), hold: with(healthy(), map[string]float64{wait.Binlog: 150}), late: map[string]float64{"metadata lock": 500}, noise: 0.1}
	if text := says(w); !strings.Contains(text, "Latency changes 15 s into the judged window, at the same load: from 19") || !strings.Contains(text, " ms of the difference is in metadata lock.") {
		t.Error(text)
	}
	spread := map[string]float64{Network: 100, Service: 100, Downstream: 100, Pool: 100, wait.Binlog: 100, wait.RowLock: 100}
	w = system{base: healthy(), hold: with(healthy(), map[string]float64{wait.Binlog: 150}), late: spread, noise: 0.1}
	if text := says(w); !strings.Contains(text, "Latency changes 15 s into the judged window") || strings.Contains(text, "of the difference is in") {
		t.Error(text)
	}
	w = system{base: healthy(), hold: with(healthy(), map[string]float64{wait.Binlog: 400}), noise: 0.1}
	if text := says(w); strings.Contains(text, "Latency changes") {
		t.Error(text)
	}
}

// A window that failed by itself is diagnosed with all of its parts, which a recovery from
// a fault has cut it into.
func TestPartsOfTheWindowThatFailed(t *testing.T) {
	r := system{base: healthy(), hold: healthy(), late: map[string]float64{wait.Binlog: 600}, noise: 0.1}.record()
	v := verdict.Judge(r)
	whole := v.Judged[0]
	middle := (whole.From + whole.To) / 2
	v.Judged, v.WindowOf = []record.Span{{From: whole.From, To: middle}, {From: middle, To: whole.To}}, []int{0, 0}
	for i, s := range v.SLOs {
		if broken(s) {
			v.SLOs[i].FailedWindow = new(1)
		}
	}
	if b := Of(r, v).Bottleneck; b.Component != wait.ComponentOf(wait.Binlog) || *b.GrowthMs < 250 {
		t.Errorf("%+v: the second part has 600 ms of it", b)
	}
}

// The same record gives the same diagnosis, to the last bit.
func TestDiagnosisIsAFunctionOfTheRecord(t *testing.T) {
	w := system{base: healthy(), hold: with(healthy(), map[string]float64{wait.Binlog: 200, Downstream: 150}), noise: 0.3}
	r := w.record()
	a, b := w.diagnosed(), w.diagnosed()
	if diff := cmp.Diff(a, b); diff != "" {
		t.Error(diff)
	}
	if len(r.Timeline.Sources()) == 0 {
		t.Error("the record is empty")
	}
	for seed := range uint64(10) {
		w.seed = seed
		r := w.record()
		judged := verdict.Judge(r).Judged
		first := waits(r, judged)
		for range 20 {
			if diff := cmp.Diff(first, waits(r, judged)); diff != "" {
				t.Fatal(diff)
			}
		}
	}
}

func TestResources(t *testing.T) {
	f := system{base: healthy(), hold: healthy(), cpu: 0.5, queue: 0.1}.diagnosed()
	got := map[string]float64{}
	for _, r := range f.Resources {
		got[r.Name] = math.Round(1e6**r.PerTransaction) / 1e6
	}
	if diff := cmp.Diff(map[string]float64{"commits": 3, "CPU of the database": 25, "CPU of the service": 0}, got); diff != "" {
		t.Error(diff)
	}
}

// A latency above a maximum at the baseline already counts as well.
func TestBaselineThatBreaksAMaximum(t *testing.T) {
	slow := with(healthy(), map[string]float64{Downstream: 400})
	maximum := func(r *record.Run) {
		r.Plan.Profile.Flows[0].SLOs = []spec.SLO{{Metric: metric.TransactionDuration, Expression: "max<250", Aggregate: spec.Max, Operator: "<", Bound: 250}}
	}
	b := system{base: slow, hold: with(slow, map[string]float64{wait.Binlog: 20}), noise: 0.1, change: maximum}.diagnosed().Bottleneck
	if b.Component != Downstream || !strings.Contains(b.Sentence, "which already breaks an SLO") {
		t.Errorf("%+v", b)
	}
}
