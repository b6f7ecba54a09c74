package record_test

import (
	"encoding/binary"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"assay.dev/assay/internal/hint"
	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/observe/record"
	"assay.dev/assay/internal/plan"
	"assay.dev/assay/internal/spec"
)

// start is when the load of the runs here starts.
var start = time.Unix(1795219940, 0).UTC()

// aPlan is one that a run could have had.
func aPlan() record.Plan {
	p := spec.Profile{Name: "payment", Flows: []spec.Flow{{Timeout: 5 * time.Second, Load: spec.Load{Unit: "tps", Target: 60, Hold: 10 * time.Second}}}}
	load, err := plan.New(p, 2, 1)
	if err != nil {
		panic(err)
	}
	return record.Plan{Schema: "assay/plan/v1", Run: "r", Profile: p, Load: load, Scope: spec.ScopeSmoke}
}

func frame(sequence uint64, value float64) metric.Frame {
	return metric.Frame{
		Source: "worker/0", Sequence: sequence, Second: 1795219933 + int64(sequence),
		Points: []metric.Point{metric.CounterPoint(metric.NewSeries("http_reqs", "", "name", "pay"), value)},
	}
}

// sealed makes a sealed run folder with these frames, each of them flushed.
func sealed(t *testing.T, frames ...metric.Frame) (dir string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "runs", "r")
	w, err := record.Create(dir, aPlan())
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range frames {
		if err := errors.Join(w.Frame(f), w.Flush()); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(w.Environment(record.Environment{Schema: "assay/environment/v1"}), w.Seal(record.Facts{Schema: "assay/facts/v1", T0: start, Ended: start.Add(11 * time.Second), Issued: start.Add(12 * time.Second), Ledger: record.LedgerFact{State: record.StateAbsent}})); err != nil {
		t.Fatal(err)
	}
	return dir
}

func framesOf(dir string) string { return filepath.Join(dir, "evidence", "frames.otlp.pb.zst") }

func sequences(dir string) (all []uint64, err error) {
	err = record.EachFrame(dir, func(f metric.Frame) error {
		all = append(all, f.Sequence)
		return nil
	})
	return all, err
}

// A file that is truncated anywhere is an error, never a shorter run.
func TestTruncatedFramesAreAnError(t *testing.T) {
	dir := sealed(t, frame(1, 3), frame(2, 5), frame(3, 8))
	if got, err := sequences(dir); err != nil || !slices.Equal(got, []uint64{1, 2, 3}) {
		t.Fatalf("frames %v, error %v", got, err)
	}
	whole, err := os.ReadFile(framesOf(dir))
	if err != nil {
		t.Fatal(err)
	}
	for n := 1; n < len(whole); n++ {
		if err := os.WriteFile(framesOf(dir), whole[:n], 0o644); err != nil {
			t.Fatal(err)
		}
		if r, err := record.Open(dir); !errors.Is(err, record.ErrChanged) {
			t.Errorf("truncated to %d of %d bytes: %v, %v", n, len(whole), r.Timeline, err)
		}
		if got, err := sequences(dir); !slices.Equal(got, []uint64{1, 2, 3}[:len(got)]) || err == nil && len(got) == 0 {
			t.Errorf("truncated to %d of %d bytes: frames %v, %v", n, len(whole), got, err)
		}
	}
}

// FuzzEachFrame: reading any file terminates, and accepted frames can be encoded again.
func FuzzEachFrame(f *testing.F) {
	one, err := metric.Encode(frame(1, 3), frame(2, 0.5))
	if err != nil {
		f.Fatal(err)
	}
	stream := append(binary.AppendUvarint(nil, uint64(len(one))), one...)
	f.Add(stream)
	f.Add(append(slices.Clone(stream), stream...))
	f.Add(stream[:len(stream)-1])
	f.Add(binary.AppendUvarint(nil, 1<<40)) // a frame of a terabyte
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f})
	dir := filepath.Join(f.TempDir(), "r")
	if err := errors.Join(
		os.MkdirAll(filepath.Dir(framesOf(dir)), 0o755),
		os.WriteFile(filepath.Join(filepath.Dir(framesOf(dir)), "manifest.json"), []byte("{}"), 0o644),
	); err != nil {
		f.Fatal(err)
	}
	zip, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, stream []byte) {
		if err := os.WriteFile(framesOf(dir), zip.EncodeAll(stream, nil), 0o644); err != nil {
			t.Fatal(err)
		}
		_ = record.EachFrame(dir, func(got metric.Frame) error { // malformed frames are an error
			if _, err := metric.Encode(got); err != nil {
				t.Fatalf("accepted, but cannot be encoded: %v", err)
			}
			return nil
		})
	})
}

// Each kind of folder that is not a sealed record has its own error, and Discard removes
// everything that Create made.
func TestFolders(t *testing.T) {
	dir := t.TempDir()
	if _, err := record.Open(dir); !errors.Is(err, record.ErrNoRun) {
		t.Errorf("an empty folder: %v", err)
	}
	if _, err := record.Open(filepath.Join(dir, "nope")); !errors.Is(err, fs.ErrNotExist) || hint.Of(err) == "" {
		t.Errorf("no folder: %v, hint %q", err, hint.Of(err))
	}
	damaged := filepath.Join(dir, "damaged", record.EvidenceDir)
	if err := os.MkdirAll(damaged, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(damaged, "manifest.json"), []byte("Z"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := record.Open(filepath.Dir(damaged)); err == nil || !strings.Contains(err.Error(), "manifest.json is damaged") || hint.Of(err) == "" {
		t.Errorf("a damaged manifest: %v, hint %q", err, hint.Of(err))
	}
	if err := os.RemoveAll(filepath.Dir(damaged)); err != nil {
		t.Fatal(err)
	}
	runs := filepath.Join(dir, "deep", "runs")
	w, err := record.Create(filepath.Join(runs, "a"), aPlan())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := record.Open(filepath.Join(runs, "a")); !errors.Is(err, record.ErrNotSealed) {
		t.Errorf("an unfinished run: %v", err)
	}
	if _, err := record.Create(filepath.Join(runs, "a"), aPlan()); err == nil {
		t.Error("a second run was made in the folder of the first")
	}
	if err := w.Discard(); err != nil {
		t.Fatal(err)
	}
	if left, _ := os.ReadDir(dir); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
	kept := filepath.Join(dir, "kept")
	if err := os.Mkdir(kept, 0o755); err != nil {
		t.Fatal(err)
	}
	if w, err = record.Create(kept, aPlan()); err != nil {
		t.Fatal(err)
	}
	if err := w.Discard(); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(kept); err != nil || len(left) != 0 {
		t.Errorf("left: %v, error %v", left, err)
	}
}
