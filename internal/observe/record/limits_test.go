package record

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"assay.dev/assay/internal/hint"
	"assay.dev/assay/internal/observe/ledger"
	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/plan"
	"assay.dev/assay/internal/signature"
	"assay.dev/assay/internal/spec"
	"assay.dev/assay/internal/testing/metrictest"
)

// sealWith seals a run of a plan that sent some frames.
func sealWith(t *testing.T, p Plan, frames ...metric.Frame) (dir string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "run")
	w, err := Create(dir, p)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range frames {
		must(t, w.Frame(f))
	}
	must(t, w.Environment(anEnvironment()), w.Seal(someFacts(StateAbsent)))
	return dir
}

// again makes the manifest of a record again, as somebody would who changed it.
func again(t *testing.T, dir string) {
	t.Helper()
	w := &Writer{dir: dir}
	m, err := manifestOf(w.path(), "a-run")
	must(t, err, w.writeJSON(manifestFile, m))
}

// replaceFrames replaces the frames of a record by messages of which each is repeated.
func replaceFrames(t *testing.T, dir string, messages func(add func(metric.Frame))) {
	t.Helper()
	var stream bytes.Buffer
	zip, err := zstd.NewWriter(&stream, zstd.WithEncoderConcurrency(1))
	must(t, err)
	messages(func(f metric.Frame) {
		data, err := metric.Encode(f)
		must(t, err)
		_, err = zip.Write(append(binary.AppendUvarint(nil, uint64(len(data))), data...))
		must(t, err)
	})
	must(t, zip.Close(), os.WriteFile(filepath.Join(dir, EvidenceDir, framesFile), stream.Bytes(), 0o644))
	again(t, dir)
}

// refuses requires that a record cannot be opened, for a reason, in one line.
func refuses(t *testing.T, what, dir, want string) {
	t.Helper()
	_, err := Open(dir)
	if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
		t.Errorf("%s: %v, want %q", what, err, want)
	}
}

// costly are frames, and why they are refused.
type costly struct {
	frames func(add func(metric.Frame))
	want   string
}

func refuseFrames(t *testing.T, all map[string]costly) {
	t.Helper()
	dir := sealWith(t, aPlan(), latencies("worker/0", 1, 1))
	for name, c := range all {
		replaceFrames(t, dir, c.frames)
		refuses(t, name, dir, c.want)
	}
}

// at is a frame of the first worker.
func at(sequence uint64, second int64, points ...metric.Point) metric.Frame {
	return metric.Frame{Source: "worker/0", Sequence: sequence, Second: t0 + second, Points: points}
}

// Small files of frames that would take gigabytes, or minutes, are refused.
func TestFramesThatCostTooMuch(t *testing.T) {
	t.Parallel()
	refuseFrames(t, map[string]costly{
		"sources": {func(add func(metric.Frame)) {
			for n := range 3000 {
				add(metric.Frame{Source: fmt.Sprint("worker/", n), Sequence: 1, Second: t0})
			}
		}, "sources"},
		"gaps": {func(add func(metric.Frame)) {
			for n := range uint64(20_000) {
				add(at(100_000-2*n, 1))
			}
		}, "gaps between the frames"},
		"series of a collector": {func(add func(metric.Frame)) {
			var points []metric.Point
			for k := range 20_000 {
				points = append(points, metric.CounterPoint(metric.Of(metric.DBSession, "event", fmt.Sprint(k)), 1))
			}
			add(metric.Frame{Source: metric.SourceDatabase, Sequence: 1, Second: t0, Points: points})
		}, "longer to read"},
		"classes of waits": {func(add func(metric.Frame)) {
			var points []metric.Point
			for k := range 500 {
				points = append(points, metric.CounterPoint(metric.Of(metric.DBSession, "class", fmt.Sprint(k)), 1))
			}
			add(metric.Frame{Source: metric.SourceDatabase, Sequence: 1, Second: t0, Points: points})
		}, "classes of waits"},
		"a second long before": {func(add func(metric.Frame)) { add(at(1, -1e6)) }, "is of second"},
		"a second long after":  {func(add func(metric.Frame)) { add(at(1, 1e6)) }, "is of second"},
		"the first second":     {func(add func(metric.Frame)) { add(at(1, math.MinInt64)) }, "is of second"},
		"the last second":      {func(add func(metric.Frame)) { add(at(1, math.MaxInt64-t0)) }, "is of second"},
		"an interval of years": {func(add func(metric.Frame)) { add(metric.Frame{Source: "otlp/x", Second: t0, Length: 1e9}) }, "covers"},
	})
}

// What frames are compared with costs as much as they themselves: a plan may have thousands of
// SLOs, and a frame may hold nothing but an iteration of k6, or nothing at all.
func TestComparisonsThatCostTooMuch(t *testing.T) {
	t.Parallel()
	p := aPlan()
	p.Profile.Flows[0].Load.Hold = 4000 * time.Second
	for n := range 1000 {
		p.Profile.Flows[0].SLOs = append(p.Profile.Flows[0].SLOs, spec.SLO{
			Metric: metric.TransactionDuration, Expression: fmt.Sprintf("p(50)<%d", n+1), Aggregate: spec.Percentile, Quantile: 0.5, Operator: "<", Bound: float64(n + 1),
		})
	}
	load, err := plan.New(p.Profile, 2, 1)
	must(t, err)
	p.Load = load
	if c := NewChecker(p); len(c.pairs) != len(p.Profile.Flows[0].SLOs)-1 {
		t.Errorf("%d pairs of %d SLOs are compared", len(c.pairs), len(p.Profile.Flows[0].SLOs))
	}
	dir := sealWith(t, p, latencies("worker/0", 1, 1))
	iteration := metric.HistPoint(metric.NewSeries(metric.IterationDuration, "ms"), metrictest.Hist(1))
	for name, c := range map[string]costly{
		"iterations": {func(add func(metric.Frame)) {
			for n := range 13_000 {
				add(metric.Frame{Source: fmt.Sprint("worker/", n%10), Sequence: uint64(n/10 + 1), Second: t0 + int64(n/10), Points: []metric.Point{iteration}})
			}
		}, "longer to read"},
		"nothing": {func(add func(metric.Frame)) {
			for n := range 30_000 {
				add(at(uint64(n+1), 1))
			}
		}, "longer to read"},
	} {
		replaceFrames(t, dir, c.frames)
		refuses(t, name, dir, c.want)
	}
	c := NewChecker(p)
	c.Start(time.Unix(t0, 0))
	if err := c.Frame(at(1, 5000, iteration)); err == nil {
		t.Error("an iteration after the load is accepted")
	}
	c.left = allowanceFor(0)
	before := c.left.memory
	must(t, c.Frame(at(1, 1, iteration)))
	if used := before - c.left.memory; used < 8*int64(len(p.Profile.Flows[0].SLOs)) {
		t.Errorf("a second that is not settled takes %d bytes", used)
	}
}

// What other senders send beyond their own allowance is left out, and takes nothing from that
// of the workers.
func TestPointsOfOthersAreLeftOut(t *testing.T) {
	t.Parallel()
	line := NewTimeline()
	line.left, line.foreignLeft = &allowance{memory: 20_000, work: 1000}, &allowance{memory: 1 << 19, work: 1 << 20}
	const senders, each = 10, 200 // seconds, of a histogram like those of an SDK
	sent := 0
	for second := range int64(each) {
		for n := range senders {
			line.Add(metric.Frame{Source: fmt.Sprint("otlp/", n), Second: t0 + second, Points: []metric.Point{
				metric.HistPoint(metric.NewSeries("http.server.request.duration", "s"), metrictest.Explicit(t, []float64{0.005, 0.01, 0.1, 1}, 0.003, 0.2)),
			}})
			sent++
		}
	}
	line.Add(at(1, 1, metric.CounterPoint(metric.Of(metric.TransactionsScheduled), 7)))
	left, read := line.LeftOut(), len(line.Foreign("http.server.request.duration", nil, All))
	if scheduled, _ := line.Sum(metric.TransactionsScheduled, nil, All); line.err != nil || scheduled != 7 {
		t.Errorf("%v, %g transactions", line.err, scheduled)
	}
	if left.Points == 0 || read == 0 || read+left.Points != sent || left.From <= t0 || left.From >= t0+each {
		t.Errorf("%d of %d points are read, and left out are %+v", read, sent, left)
	}
}

// Compressed files that expand to far more than real ones are refused after a hundred times
// their size.
func TestFilesThatExpand(t *testing.T) {
	t.Parallel()
	zip, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(8<<20))
	must(t, err)
	bomb := zip.EncodeAll(append([]byte("\xff\xff\xff\x1f"), make([]byte, 100<<20)...), nil) // one message
	dir := sealWith(t, aPlan(), latencies("worker/0", 1, 1))
	must(t, os.WriteFile(filepath.Join(dir, EvidenceDir, framesFile), bomb, 0o644))
	again(t, dir)
	refuses(t, "frames", dir, "expands to more than 100 times its size")

	dir = filepath.Join(t.TempDir(), "run")
	w, err := Create(dir, aPlan())
	must(t, err)
	lines := strings.Repeat("0123456789abcdef0123456789abcdef 1795219940000\n", 1<<21)
	must(t, w.Environment(anEnvironment()), w.Persisted(each()), w.Seal(someFacts(StateOK)))
	must(t, os.WriteFile(filepath.Join(dir, EvidenceDir, ledgerDir, "acknowledged-worker-0.zst"), zip.EncodeAll([]byte(lines), nil), 0o644))
	again(t, dir)
	refuses(t, "identities", dir, "read ledger")
}

// Bytes of compressed files that hold nothing are refused after a megabyte of them.
func TestFilesThatHoldNothing(t *testing.T) {
	t.Parallel()
	for name, nothing := range map[string]string{
		"blocks": "\x28\xb5\x2f\xfd\x00\x58" + strings.Repeat("\x00", 3<<20),
		"frames": strings.Repeat("\x28\xb5\x2f\xfd\x20\x00\x01\x00\x00", 1<<19),
		"skip":   strings.Repeat("\x50\x2a\x4d\x18\x00\x00\x00\x00", 1<<19),
	} {
		dir := sealWith(t, aPlan(), latencies("worker/0", 1, 1))
		f, err := os.OpenFile(filepath.Join(dir, EvidenceDir, framesFile), os.O_APPEND|os.O_WRONLY, 0)
		must(t, err)
		_, err = f.WriteString(nothing)
		must(t, err, f.Close())
		again(t, dir)
		refuses(t, name, dir, "more than 4 times the bytes of what it holds")
	}
	replaced := func(content string) string {
		dir := sealWith(t, aPlan(), latencies("worker/0", 1, 1))
		zip, err := zstd.NewWriter(nil)
		must(t, err, os.WriteFile(filepath.Join(dir, EvidenceDir, framesFile), zip.EncodeAll([]byte(content), nil), 0o644))
		again(t, dir)
		return dir
	}
	refuses(t, "messages", replaced(strings.Repeat("\x00", 1<<10)), "it is empty")
}

// What would be read for hours is refused by its names and sizes, and by how it begins.
func TestFilesThatTakeLongToRead(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(evidence string) error
		want   string
	}{
		"a file of two names": {func(evidence string) error {
			return errors.Join(os.WriteFile(filepath.Join(evidence, workersDir, "a"), nil, 0o644), os.Link(filepath.Join(evidence, workersDir, "a"), filepath.Join(evidence, ledgerDir, "b")))
		}, "ledger/b and workers/a are one file"},
		"a log": {func(evidence string) error {
			return os.WriteFile(filepath.Join(evidence, workersDir, "worker-0.log"), make([]byte, MaxLog+1), 0o644)
		}, "workers/worker-0.log: it is too large"},
		"a document": {func(evidence string) error {
			return os.WriteFile(filepath.Join(evidence, environmentFile), make([]byte, MaxLog+1), 0o644)
		}, "environment.json: it is too large"},
		"frames": {func(evidence string) error {
			return os.WriteFile(filepath.Join(evidence, framesFile), make([]byte, MaxLog+1), 0o644)
		}, "frames.otlp.pb.zst: the record has changed"},
	} {
		dir := sealWith(t, aPlan(), latencies("worker/0", 1, 1))
		must(t, c.change(filepath.Join(dir, EvidenceDir)))
		if name == "frames" { // the manifest states this size too
			sealed := filepath.Join(dir, EvidenceDir, manifestFile)
			must(t, os.WriteFile(sealed, fmt.Appendf(nil, `{"schema": %q, "run": "a-run", "files": [{"path": %q, "size": %d, "sha256": "%x"}]}`, manifestSchema, framesFile, MaxLog+1, sha256.Sum256(make([]byte, MaxLog+1))), 0o644))
		}
		refuses(t, name, dir, c.want)
	}
}

// A ledger dated outside of the run, or whose identities are no hashes, is refused.
func TestLedgersThatNoRunHas(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		acks []ledger.Entry
		want string
	}{
		"years before": {[]ledger.Entry{entry("a", -1e11)}, "is of second"},
		"the end":      {[]ledger.Entry{{Hash: ledger.HashOf("a-run", "a"), Millis: math.MaxInt64}}, "is of second"},
	} {
		dir := filepath.Join(t.TempDir(), "run")
		w, err := Create(dir, aPlan())
		must(t, err, w.Acknowledged("worker/0", 1, c.acks), w.Persisted(each()), w.Environment(anEnvironment()), w.Seal(someFacts(StateOK)))
		refuses(t, name, dir, c.want)
	}
	p, err := newParts(t.TempDir(), 100)
	must(t, err)
	defer func() { _ = p.close() }()
	for n := 0; err == nil; n++ {
		if n > 2*maxPartEntries {
			t.Fatal("all identities may be in one part")
		}
		err = p.add(ledger.Acknowledged, ledger.Entry{Hash: ledger.Hash{1, 2, 3}, Millis: int64(n)})
	}
}

// Whatever is no regular file is refused without being read, wherever it is.
func TestKindsOfFilesInARecord(t *testing.T) {
	t.Parallel()
	kinds := map[string]func(path string) error{
		"pipe":    func(path string) error { return syscall.Mkfifo(path, 0o644) },
		"endless": func(path string) error { return os.Symlink("/dev/zero", path) },
		"link":    func(path string) error { return os.Symlink(path+".moved", path) },
		"folder":  func(path string) error { return os.Mkdir(path, 0o755) },
		"sparse":  func(path string) error { return errors.Join(os.WriteFile(path, nil, 0o644), os.Truncate(path, 8<<30)) },
	}
	for name, make := range kinds {
		for _, at := range []string{"evidence", "evidence/manifest.json", "evidence/plan.json", "evidence/frames.otlp.pb.zst", "evidence/ledger", "evidence/added"} {
			if name == "folder" && (at == "evidence/added" || at == "evidence/ledger") {
				continue // it is empty, and no file
			}
			dir := sealWith(t, aPlan(), latencies("worker/0", 1, 1))
			path := filepath.Join(dir, at)
			if err := os.Rename(path, path+".moved"); err != nil && !errors.Is(err, os.ErrNotExist) {
				t.Fatal(err)
			}
			must(t, make(path))
			if at != "evidence" && at != "evidence/manifest.json" && name == "sparse" { // sealed with its size
				sealed := filepath.Join(dir, EvidenceDir, manifestFile)
				must(t, os.WriteFile(sealed, fmt.Appendf(nil, `{"schema": %q, "run": "a-run", "files": [{"path": %q, "size": %d, "sha256": ""}]}`, manifestSchema, strings.TrimPrefix(at, "evidence/"), int64(8<<30)), 0o644))
			}
			if _, err := Open(dir); err == nil || hint.Of(err) == "" {
				t.Errorf("%s is a %s: %v, with the hint %q", at, name, err, hint.Of(err))
			}
			_ = EachFrame(dir, func(metric.Frame) error { return nil }) // it ends
			_, _ = ReadPlan(dir)
			for range Plans(filepath.Dir(dir)) {
			}
			if w, _, err := Resume(dir, func(metric.Frame) error { return nil }); err == nil {
				t.Errorf("%s is a %s, and the record is continued", at, name)
				_ = w.Close()
			}
		}
	}
}

// The facts of a record are checked like its plan.
func TestFactsThatNoRunHas(t *testing.T) {
	t.Parallel()
	p, e, many := aPlan(), anEnvironment(), map[string]int64{}
	for n := range int64(maxList + 1) {
		many[fmt.Sprint(n)] = n
	}
	if err := errors.Join(p.check(), e.check(), someFacts(StateOK).check(p)); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*Facts){
		"no schema":                func(f *Facts) { f.Schema = "" },
		"no start":                 func(f *Facts) { f.T0 = time.Time{} },
		"a start within a second":  func(f *Facts) { f.T0 = f.T0.Add(1) },
		"a start in another age":   func(f *Facts) { f.T0 = f.T0.AddDate(5000, 0, 0) },
		"no end":                   func(f *Facts) { f.Ended = time.Time{} },
		"an end before the start":  func(f *Facts) { f.Ended = f.T0.AddDate(-1, 0, 0) },
		"an end years later":       func(f *Facts) { f.Ended = f.T0.AddDate(100, 0, 0) },
		"no issue":                 func(f *Facts) { f.Issued = time.Time{} },
		"an issue years later":     func(f *Facts) { f.Issued = time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC) },
		"an issue years before":    func(f *Facts) { f.Issued = f.T0.AddDate(-1, 0, 0) },
		"a look that is not":       func(f *Facts) { f.Look = 1 },
		"a look before the first":  func(f *Facts) { f.Look = -1 },
		"attempts":                 func(f *Facts) { f.Attempts = -1 },
		"workers":                  func(f *Facts) { f.Workers = make([]Worker, 3) },
		"a worker twice":           func(f *Facts) { f.Workers = make([]Worker, 2) },
		"faults":                   func(f *Facts) { f.Faults = make([]Fault, 1) },
		"invariants":               func(f *Facts) { f.Invariants = make([]Invariant, 1) },
		"the ledger's state":       func(f *Facts) { f.Ledger.State = "fine" },
		"limitations":              func(f *Facts) { f.Limitations = make([]string, maxLimitations+2) },
		"a long limitation":        func(f *Facts) { f.Limitations = []string{strings.Repeat("x", maxText+1)} },
		"a long reason":            func(f *Facts) { f.Collectors = []Collect{{Reason: strings.Repeat("x", maxText+1)}} },
		"outcomes of calls":        func(f *Facts) { f.Stubs = []Stub{{Endpoints: []StubEndpoint{{Calls: many}}}} },
		"calls of a stub":          func(f *Facts) { f.Stubs = []Stub{{Endpoints: []StubEndpoint{{Calls: map[string]int64{"a": -1}}}}} },
		"stubs":                    func(f *Facts) { f.Stubs = make([]Stub, 1) },
		"an abort of years":        func(f *Facts) { f.Aborted = &Abort{From: 0, To: 1e18} },
		"an abort that is reverse": func(f *Facts) { f.Aborted = &Abort{From: t0 + 5, To: t0 + 4} },
		"an abort's numbers":       func(f *Facts) { f.Aborted = &Abort{From: t0, To: t0 + 4, Occurred: 5, Total: 4} },
	} {
		f := someFacts(StateOK)
		if change(&f); f.check(p) == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	for name, change := range map[string]func(*Plan){
		"no schema":           func(p *Plan) { p.Schema = "" },
		"no run":              func(p *Plan) { p.Run = "" },
		"no scope":            func(p *Plan) { p.Scope = "" },
		"a long target":       func(p *Plan) { p.Target = strings.Repeat("x", maxText+1) },
		"another load":        func(p *Plan) { p.Load.Judged = []plan.Window{{End: 1e18}} },
		"no profile":          func(p *Plan) { p.Profile = spec.Profile{} },
		"a hold of ages":      func(p *Plan) { p.Profile.Flows[0].Load.Hold = 1e18 },
		"a hold below 0":      func(p *Plan) { p.Profile.Flows[0].Load.Hold = -time.Second },
		"a rate":              func(p *Plan) { p.Profile.Flows[0].Load.Target = 1e300 },
		"looks without end":   func(p *Plan) { p.Profile.Flows[0].Load.HoldMax = 1e18 },
		"looks without hold":  func(p *Plan) { p.Profile.Flows[0].Load.Hold, p.Profile.Flows[0].Load.HoldMax = 0, time.Second },
		"SLOs":                func(p *Plan) { p.Profile.Flows[0].SLOs = make([]spec.SLO, 100_000) },
		"a fault of nothing":  func(p *Plan) { p.Profile.Faults = []spec.Fault{{}} },
		"a share":             func(p *Plan) { p.Profile.Marking.Sampled = 2 },
		"an abort of nothing": func(p *Plan) { p.Profile.Abort = []spec.Abort{{}} },
		"a timeout":           func(p *Plan) { p.Profile.Flows[0].Timeout = 1e18 },
		"a think time":        func(p *Plan) { p.Profile.Flows[0].Think = -1 },
		"flows without names": func(p *Plan) { p.Profile.Flows = make([]spec.Flow, 2) },
		"scripts":             func(p *Plan) { p.Scripts = make([]Digest, maxList+1) },
		"readers":             func(p *Plan) { p.Readers = make([]string, maxList+1) },
		"a long variable":     func(p *Plan) { p.Profile.Env = spec.Env{"A": strings.Repeat("x", spec.MaxBytes+1)} },
	} {
		p := aPlan()
		if change(&p); p.check() == nil {
			t.Errorf("%s: accepted", name)
		}
		if _, err := Create(filepath.Join(t.TempDir(), "run"), p); err == nil {
			t.Errorf("%s: a run with it begins", name)
		}
	}
}

// A run that is certified says how each of its workers has ended.
func TestWorkersWhoseEndIsNotKnown(t *testing.T) {
	t.Parallel()
	p, f := aPlan(), someFacts(StateOK)
	p.Thresholds.SHA256 = "sha256:00"
	for _, c := range []struct {
		sources []string
		ok      bool
	}{{nil, false}, {[]string{"worker/0"}, false}, {[]string{"worker/0", "worker/0"}, false}, {[]string{"worker/0", "worker/7"}, false}, {[]string{"worker/0", "worker/1"}, true}} {
		f.Workers = nil
		for _, source := range c.sources {
			f.Workers = append(f.Workers, Worker{Source: source, Exit: "0"})
		}
		if err := f.check(p); (err == nil) != c.ok {
			t.Errorf("%q: %v", c.sources, err)
		}
	}
}

// A run is aborted by a condition of its profile.
func TestAbortsThatNoProfileAskedFor(t *testing.T) {
	t.Parallel()
	p := aPlan()
	p.Profile.Abort = []spec.Abort{
		{Metric: "http_req_failed", Expression: "rate>0.5 for 10s", Limit: 0.5, For: 10 * time.Second},
		{Metric: "orders", Expression: "rate>0.05 for 3s", Limit: 0.05, For: 3 * time.Second, Neighbour: &spec.Neighbour{URL: "http://orders/health"}},
	}
	load := Abort{Metric: "http_req_failed", Expression: "rate>0.5 for 10s", Limit: 0.5, From: t0, To: t0 + 10, Occurred: 6, Total: 10}
	orders := Abort{Metric: "orders", Expression: "rate>0.05 for 3s", Limit: 0.05, Unit: "share", Protects: "the neighbour orders", From: t0, To: t0 + 3}
	for name, c := range map[string]struct {
		of     Abort
		change func(a *Abort)
		is     bool
	}{
		"of the load":        {load, func(*Abort) {}, true},
		"of a neighbour":     {orders, func(*Abort) {}, true},
		"another metric":     {load, func(a *Abort) { a.Metric = "checks" }, false},
		"another expression": {load, func(a *Abort) { a.Expression = "rate>0.6 for 10s" }, false},
		"another limit":      {load, func(a *Abort) { a.Limit = 0.6 }, false},
		"something else":     {load, func(a *Abort) { a.Protects = "the database" }, false},
		"the load itself":    {orders, func(a *Abort) { a.Protects, a.Unit = "", "" }, false},
	} {
		f := someFacts(StateOK)
		f.Aborted = &c.of
		c.change(f.Aborted)
		if err := f.check(p); (err == nil) != c.is {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The environment of a record is checked too, and may be that of the largest fleet.
func TestEnvironmentsThatNoRunHas(t *testing.T) {
	t.Parallel()
	e := anEnvironment()
	e.CoLocation = []string{metric.SourceService, metric.SourceDatabase}
	for n := range spec.MaxFleet {
		e.Workers = append(e.Workers, WorkerHost{Source: fmt.Sprint("worker/", n), Share: 0.001})
	}
	must(t, e.check())
	long := strings.Repeat("x", maxText+1)
	for name, change := range map[string]func(*Environment){
		"no schema":            func(e *Environment) { e.Schema = "" },
		"workers":              func(e *Environment) { e.Workers = append(e.Workers, WorkerHost{}) },
		"a neighbour":          func(e *Environment) { e.CoLocation = []string{"its friend"} },
		"a neighbour twice":    func(e *Environment) { e.CoLocation = []string{"service", "service"} },
		"neighbours":           func(e *Environment) { e.CoLocation = slices.Repeat([]string{"database"}, 990_000) },
		"builds":               func(e *Environment) { e.Service = &Service{Builds: make([]Build, MaxBuilds+1)} },
		"a long kernel":        func(e *Environment) { e.Host.Kernel = long },
		"a variable's name":    func(e *Environment) { e.Database = &Database{Variables: map[string]string{long: ""}} },
		"a variable's value":   func(e *Environment) { e.Database = &Database{Variables: map[string]string{"a": long}} },
		"a long name of a pod": func(e *Environment) { e.Workers = []WorkerHost{{Pod: long}} },
	} {
		changed := e
		if change(&changed); changed.check() == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

// docs/records.md states the limits.
func TestLimitsAreDocumented(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../../docs/records.md")
	must(t, err)
	all := strings.Join(strings.Fields(string(text)), " ")
	for _, want := range []string{
		fmt.Sprintf("%d MiB, %s values and keys", MaxDocument>>20, grouped(MaxValues)),
		grouped(signature.MaxValues) + " values and keys",
		fmt.Sprintf("the newest with %d MiB of plans, and of certificates", maxDocuments>>20),
		"files and folders | " + grouped(maxFiles),
		fmt.Sprintf("of %d GiB or more | %d %% of their sizes", sparseBytes>>30, 100/sparseShare),
		fmt.Sprintf("%d times its size and %d MiB, in a window of %d MiB", expandRatio, expandBytes>>20, maxWindow>>20),
		fmt.Sprintf("any other file | %d MiB", MaxLog>>20),
		fmt.Sprintf("a compressed file | %d GiB; %d times what it expands to and %d MiB", maxZstd>>30, shrinkRatio, expandBytes>>20),
		fmt.Sprintf("a message of frames | %d MiB", maxFrame>>20),
		fmt.Sprintf("at most %d h and %s workers", spec.MaxDuration/time.Hour, grouped(spec.MaxFleet)),
		"times the SLOs of their flow | " + grouped(spec.MaxJudged),
		fmt.Sprintf("%s elements; %s stages and windows, %s instruments, %s readings of a condition, %d limitations, %d builds", grouped(maxList),
			grouped(longLists["stages"]), grouped(longLists["instruments"]), grouped(longLists["observed"]), maxLimitations+1, MaxBuilds),
		fmt.Sprintf("a text in them | %d bytes; %d MiB for", maxText, longTexts["sql"]>>20),
		"the workers and " + grouped(maxSources) + " more",
		"frames of a source | " + grouped(maxGaps),
		fmt.Sprintf("at most %d days after the start", maxRun/(24*time.Hour)),
		fmt.Sprintf("classes of waits | %d", maxClasses),
		fmt.Sprintf("%d MiB and %d times the size", memoryBytes>>20, memoryRatio),
		fmt.Sprintf("%s and %d for each byte", grouped(workUnits), workRatio),
		grouped(maxIdentities) + "; the others",
		fmt.Sprintf("no part of which may be %d times as large", maxPartEntries/maxIdentities),
	} {
		if !strings.Contains(all, want) {
			t.Errorf("docs/records.md does not say %q", want)
		}
	}
	if around != 24*time.Hour || maxLength != 24*60*60+2 {
		t.Error("docs/records.md says a day")
	}
}

// grouped is a number with its digits in groups of three.
func grouped(n int) string {
	text := fmt.Sprint(n)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}
