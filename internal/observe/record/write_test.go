package record

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"assay.dev/assay/internal/observe/ledger"
	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/plan"
	"assay.dev/assay/internal/spec"
	"assay.dev/assay/internal/testing/metrictest"
)

// t0 is when the load of the runs here starts.
const t0 = 1_795_219_940

func aPlan() Plan {
	p := spec.Profile{Name: "payment", Flows: []spec.Flow{{Timeout: 5 * time.Second, Load: spec.Load{Unit: "tps", Target: 60, Hold: 10 * time.Second}}}}
	load, err := plan.New(p, 2, 1)
	if err != nil {
		panic(err)
	}
	return Plan{
		Schema: "assay/plan/v1", Run: "a-run", Target: "http://127.0.0.1:8080", Scope: "smoke",
		Profile: p, Load: load,
		Scripts:   []Digest{{Path: "pay.js", SHA256: "sha256:00"}},
		Tool:      Tool{Version: "v1", Revision: "abc"},
		Overrides: map[string]string{"rate": "60"},
	}
}

func entry(id string, millis int64) ledger.Entry {
	return ledger.Entry{Hash: ledger.HashOf("a-run", id), Millis: t0*1000 + millis}
}

// anEnvironment and someFacts are what a record needs at least.
func anEnvironment() Environment { return Environment{Schema: environmentSchema} }

func someFacts(state string) Facts {
	return Facts{
		Schema: factsSchema, T0: time.Unix(t0, 0).UTC(), Ended: time.Unix(t0+11, 0).UTC(), Issued: time.Unix(t0+12, 0).UTC(),
		Collectors: []Collect{}, Workers: []Worker{}, Ledger: LedgerFact{State: state},
	}
}

// each reads entries as from the database.
func each(entries ...ledger.Entry) func(func(ledger.Entry) error) error {
	return func(add func(ledger.Entry) error) error {
		for _, e := range entries {
			if err := add(e); err != nil {
				return err
			}
		}
		return nil
	}
}

func latencies(source string, sequence uint64, values ...float64) metric.Frame {
	return metric.Frame{
		Source: source, Sequence: sequence, Second: 1_795_219_940,
		Points: []metric.Point{metric.HistPoint(metric.NewSeries("d", "ms"), metrictest.Hist(values...)), metric.CounterPoint(metric.NewSeries("n", "", "k", "v"), float64(len(values)))},
	}
}

// Where several runs are begun in one folder at the same time, one of them has it, and the
// others leave its files alone.
func TestCreateAtTheSameTime(t *testing.T) {
	for range 20 {
		dir, begin := t.TempDir(), make(chan struct{})
		var started sync.WaitGroup
		var made atomic.Int32
		for i := range 8 {
			started.Go(func() {
				p := aPlan()
				<-begin
				p.Run = fmt.Sprint("run-", i)
				w, err := Create(dir, p)
				if err != nil {
					return
				}
				made.Add(1)
				if err := w.Seal(Facts{Ledger: LedgerFact{State: StateAbsent}}); err != nil {
					t.Error(err)
				}
			})
		}
		close(begin)
		started.Wait()
		if err := CheckSeal(dir); err != nil || made.Load() != 1 {
			t.Fatalf("%d runs have the folder: %v", made.Load(), err)
		}
	}
}

// A record is read as it was written, and the manifest lists every file.
func TestRoundTrip(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	w, err := Create(dir, aPlan())
	if err != nil {
		t.Fatal(err)
	}
	environment := Environment{
		Schema: "assay/environment/v1", Host: Host{Name: "h", CPUs: 2}, CoLocation: []string{"service"},
		Workers: []WorkerHost{{Source: "worker/0", Share: 1, Host: Host{Name: "load-0"}, Pod: "shop/load-0", Node: "n1"}},
	}
	exit := 137
	pod := Pod{
		Name: "shop/load-0", Node: "n1", Phase: "Failed", Reason: ReasonOutOfMemory, Message: "Memory cgroup out of memory",
		ExitCode: &exit, Restarts: 1, At: time.Unix(1_795_219_945, 500_000_000).UTC(),
	}
	facts := Facts{
		Schema: "assay/facts/v1", T0: time.Unix(t0, 0).UTC(), Ended: time.Unix(1_795_219_951, 500).UTC(),
		Workers: []Worker{{Source: "worker/0", Exit: ExitLost, Pod: &pod}, {Source: "worker/1", Exit: "0"}}, Collectors: []Collect{{Source: "host", State: StateOK}},
		Ledger: LedgerFact{State: StateOK}, Issued: time.Unix(1_795_219_960, 0).UTC(), Attempts: 3,
	}
	if err := errors.Join(
		w.Environment(environment),
		w.Frame(latencies("worker/0", 1, 1, 2, 3)), w.Frame(latencies("worker/1", 1, 4, 5)), w.Frame(latencies("worker/0", 2, 6)),
		w.Acknowledged("worker/0", 1, []ledger.Entry{entry("a", 10), entry("b", 20)}), w.Acknowledged("worker/1", 1, []ledger.Entry{entry("c", 30)}),
		w.Acknowledged("worker/0", 2, []ledger.Entry{entry("d", 40)}),
		w.Persisted(each(entry("a", 15), entry("c", 35), entry("c", 36), entry("e", 50), entry("b", 19))),
		os.WriteFile(filepath.Join(w.WorkersDir(), "worker-0.log"), []byte("said\n"), 0o644),
		w.Seal(facts),
	); err != nil {
		t.Fatal(err)
	}
	r, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(aPlan(), r.Plan) + cmp.Diff(environment, r.Environment) + cmp.Diff(facts, r.Facts); diff != "" {
		t.Error(diff)
	}
	want := ledger.Comparison{Acknowledged: 4, Persisted: 5, Missing: 1, Duplicated: 1, Unacknowledged: 1, Lags: map[int64]int64{0: 1, 5: 1, 6: 1}}
	if r.Ledger == nil || cmp.Diff(want, *r.Ledger, cmpopts.IgnoreFields(want, "BySecond", "Dates")) != "" {
		t.Errorf("ledger %+v, want %+v", r.Ledger, want)
	}
	if h := r.Timeline.Hist("d", nil, All); h.Count() != 6 {
		t.Errorf("%d latencies, want 6", h.Count())
	}
	if n, _ := r.Timeline.SumOf("worker/0", "n", nil, All); n != 4 {
		t.Errorf("worker/0 counted %g, want 4", n)
	}
	checkManifest(t, dir, r.Manifest)
}

// A record of workers outside a cluster is as it was before there were pods.
func TestWorkersWithoutPods(t *testing.T) {
	for want, v := range map[string]any{
		`{"source":"worker/0","exit":"0"}`: Worker{Source: "worker/0", Exit: "0"},
		`{"source":"worker/0","share":1,"local":true,"host":{"name":"","os":"","kernel":"","cpu":"","cpus":0,"memory":0}}`: WorkerHost{Source: "worker/0", Share: 1, Local: true},
		`{"name":"shop/load-0","phase":"Running"}`: Pod{Name: "shop/load-0", Phase: "Running"},
	} {
		if got, err := json.Marshal(v); err != nil || string(got) != want {
			t.Errorf("%s, %v; want %s", got, err, want)
		}
	}
}

// checkManifest compares the manifest with the files.
func checkManifest(t *testing.T, dir, digest string) {
	t.Helper()
	evidence := filepath.Join(dir, EvidenceDir)
	sum, err := digestFile(filepath.Join(evidence, manifestFile), MaxDocument)
	if err != nil || digest != "sha256:"+sum {
		t.Errorf("the manifest's digest is %s, want %s, %v", digest, sum, err)
	}
	data, err := os.ReadFile(filepath.Join(evidence, manifestFile))
	var m Manifest
	if err := errors.Join(err, json.Unmarshal(data, &m)); err != nil {
		t.Fatal(err)
	}
	listed := map[string]string{}
	for _, f := range m.Files {
		listed[f.Path] = fmt.Sprint(f.Size, f.SHA256)
	}
	there := map[string]string{}
	err = filepath.WalkDir(evidence, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || d.Name() == manifestFile {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		sum, err := digestFile(path, info.Size())
		there[strings.TrimPrefix(path, evidence+"/")] = fmt.Sprint(info.Size(), sum)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(there, listed); diff != "" || len(there) < 7 {
		t.Errorf("manifest of %d files: %s", len(listed), diff)
	}
}

// Without a readable persisted side there is no comparison, even if identities were
// acknowledged.
func TestLedgerThatWasNotReadBack(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	w, err := Create(dir, aPlan())
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(w.Environment(anEnvironment()), w.Acknowledged("worker/0", 1, []ledger.Entry{entry("a", 1)}),
		w.Seal(someFacts(StateFailed))); err != nil {
		t.Fatal(err)
	}
	if r, err := Open(dir); err != nil || r.Ledger != nil {
		t.Errorf("ledger %+v, %v", r.Ledger, err)
	}
}

// Two sources must not share a file, in which one would overwrite the other.
func TestSourcesWithTheSameFileName(t *testing.T) {
	w, err := Create(filepath.Join(t.TempDir(), "run"), aPlan())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = w.Discard() }()
	if err := w.Acknowledged("worker/0", 1, []ledger.Entry{entry("a", 1)}); err != nil {
		t.Fatal(err)
	}
	if err := w.Acknowledged("worker-0", 1, []ledger.Entry{entry("b", 2)}); err == nil {
		t.Error("both write to one file")
	}
	if err := w.Acknowledged("../../../worker", 1, nil); err != nil {
		t.Errorf("a source with dots: %v", err)
	}
	if _, err := os.Stat(w.path(ledgerDir, "acknowledged-..-..-..-worker.zst")); err != nil {
		t.Error(err)
	}
}

// A disk error is reported at the latest when the record is sealed, and the record is
// then not sealed.
func TestDiskErrors(t *testing.T) {
	for name, fail := range map[string]func(*Writer) error{
		"frames": func(w *Writer) error { return w.frames.file.Close() },
		"acknowledgements": func(w *Writer) error {
			return errors.Join(w.Acknowledged("worker/0", 1, []ledger.Entry{entry("a", 1)}), w.acks["worker/0"].file.Close())
		},
		"facts":    func(w *Writer) error { return os.Mkdir(w.path(factsFile), 0o755) },
		"manifest": func(w *Writer) error { return os.Symlink("nowhere", w.path(workersDir, "worker-0.log")) },
	} {
		dir := filepath.Join(t.TempDir(), "run")
		w, err := Create(dir, aPlan())
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(w.Environment(anEnvironment()), fail(w)); err != nil {
			t.Fatal(err)
		}
		var failed error
		for i := range uint64(2000) { // more than the buffers hold
			values := make([]float64, 100)
			for j := range values {
				values[j] = rand.ExpFloat64() * 1000
			}
			if failed = w.Frame(latencies("worker/0", i, values...)); failed != nil {
				break
			}
		}
		if name == "frames" && failed == nil || failed != nil && name != "frames" && name != "acknowledgements" {
			t.Errorf("%s: appending gives %v", name, failed)
		}
		if err := w.Seal(someFacts(StateAbsent)); err == nil || !strings.Contains(err.Error(), "seal record") {
			t.Errorf("%s: sealing gives %v", name, err)
		}
		if _, err := Open(dir); !errors.Is(err, ErrNotSealed) {
			t.Errorf("%s: opening gives %v", name, err)
		}
		if left, _ := filepath.Glob(filepath.Join(dir, EvidenceDir, ".*")); len(left) > 0 {
			t.Errorf("%s: temporary files are left: %v", name, left)
		}
	}
}

// What was flushed can be read from the files, which are still open; what was not is
// flushed by an append a second later, or once it is large.
func TestFlush(t *testing.T) {
	w, err := Create(filepath.Join(t.TempDir(), "run"), aPlan())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = w.Discard() }()
	check := func(when string, frames, entries int) {
		t.Helper()
		var found content
		err := eachFrame(w.dir, func(int64) {}, found.visitFrame)
		rows := 0
		err = errors.Join(err, eachEntry(w.dir, func(ledger.Side, ledger.Entry) error { rows++; return nil }))
		if err != nil || len(found.Frames) != frames || rows != entries {
			t.Errorf("%s: the files have %d frames and %d entries, %v, want %d and %d", when, len(found.Frames), rows, err, frames, entries)
		}
	}
	later := func() { w.flushed = time.Now().Add(time.Hour) }
	later()
	for i := range uint64(3) {
		must(t, w.Frame(latencies("worker/0", i+1, 1)), w.Acknowledged("worker/0", i+1, []ledger.Entry{entry(fmt.Sprint(i), 1)}))
	}
	check("appended", 0, 0)
	must(t, w.Flush(), w.Flush())
	check("flushed", 3, 3)
	later()
	must(t, w.Acknowledged("worker/1", 1, []ledger.Entry{entry("d", 1)}))
	check("appended again", 3, 3)
	w.flushed = time.Now().Add(-flushInterval)
	must(t, w.Frame(latencies("worker/0", 4, 1)))
	check("a second later", 4, 4)
	later()
	must(t, w.Acknowledged("worker/0", 4, make([]ledger.Entry, flushBytes/35+1)))
	check("a large batch", 4, 4+flushBytes/35+1)
	must(t, w.Frame(latencies("worker/0", 5, 1)), w.Close())
	check("closed", 5, 4+flushBytes/35+1)
}

// After a write that failed, nothing is written: it would follow a part of a zstd frame.
func TestNothingFollowsAFailedWrite(t *testing.T) {
	w, err := Create(filepath.Join(t.TempDir(), "run"), aPlan())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = w.Discard() }()
	must(t, w.Frame(latencies("worker/0", 1, 1)), w.Flush(), w.Frame(latencies("worker/0", 2, 1)))
	file := w.frames.file
	if w.frames.file, err = os.Open(file.Name()); err != nil { // cannot be written
		t.Fatal(err)
	}
	if err := w.Flush(); err == nil {
		t.Error("a failed flush is not an error")
	}
	must(t, w.frames.file.Close())
	w.frames.file = file
	for name, err := range map[string]error{"append": w.Frame(latencies("worker/0", 3, 1)), "flush": w.Flush(), "close": w.Close()} {
		if err == nil {
			t.Errorf("%s succeeds after a failed write", name)
		}
	}
	var found content
	if err := eachFrame(w.dir, func(int64) {}, found.visitFrame); err != nil || len(found.Frames) != 1 {
		t.Errorf("%+v, %v", found, err)
	}
}

// A flush of acknowledged identities that failed fails for each later message too.
func TestFailedFlushOfALedgerIsRemembered(t *testing.T) {
	w, err := Create(filepath.Join(t.TempDir(), "run"), aPlan())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = w.Discard() }()
	w.flushed = time.Now().Add(time.Hour)
	must(t, w.Acknowledged("worker/0", 1, []ledger.Entry{entry("a", 1)}), w.Acknowledged("worker/1", 1, []ledger.Entry{entry("b", 1)}))
	must(t, w.acks["worker/0"].file.Close())
	for range 2 {
		if err := w.Flush(); err == nil {
			t.Error("a failed flush is not an error")
		}
	}
}

// A message of several frames is read as its frames.
func TestFramesOfOneMessage(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	w, err := Create(dir, aPlan())
	if err != nil {
		t.Fatal(err)
	}
	message, err := metric.Encode(latencies("worker/0", 2, 1), latencies("worker/0", 3, 1))
	must(t, err, w.Frame(latencies("worker/0", 1, 1)), w.Frames(message), w.Frame(latencies("worker/0", 4, 1)), w.Close())
	w, resumed, err := Resume(dir, func(metric.Frame) error { return nil })
	if err != nil || resumed.Sequences["worker/0"] != 4 {
		t.Fatalf("continued after %v, %v", resumed.Sequences, err)
	}
	var seen []uint64
	must(t, w.Replay(func(f metric.Frame) error { seen = append(seen, f.Sequence); return nil }), w.Discard())
	if diff := cmp.Diff([]uint64{1, 2, 3, 4}, seen); diff != "" {
		t.Error(diff)
	}
}

// A record can be replayed before it is sealed; nothing can be appended afterwards.
func TestReplay(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	w, err := Create(dir, aPlan())
	if err != nil {
		t.Fatal(err)
	}
	for i := range uint64(3) {
		if err := w.Frame(latencies("worker/0", i+1, float64(i))); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		var seen []uint64
		if err := w.Replay(func(f metric.Frame) error { seen = append(seen, f.Sequence); return nil }); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]uint64{1, 2, 3}, seen); diff != "" {
			t.Error(diff)
		}
	}
	if err := w.Frame(latencies("worker/0", 4, 1)); !errors.Is(err, os.ErrClosed) {
		t.Errorf("a frame after the replay: %v", err)
	}
	if err := errors.Join(w.Environment(anEnvironment()), w.Seal(someFacts(StateAbsent))); err != nil {
		t.Fatal(err)
	}
	r, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]int64{1_795_219_940}, r.Timeline.Seconds()); diff != "" {
		t.Error(diff)
	}
}
