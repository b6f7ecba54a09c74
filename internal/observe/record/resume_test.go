package record

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"assay.dev/assay/internal/hint"
	"assay.dev/assay/internal/observe/ledger"
	"assay.dev/assay/internal/observe/metric"
)

// content is what a record's frames and batches are, in order.
type content struct {
	Frames  []string // "worker/0 3"
	Batches []string // likewise
}

// visitFrame adds a frame.
func (c *content) visitFrame(f metric.Frame) error {
	c.Frames = append(c.Frames, fmt.Sprint(f.Source, " ", f.Sequence))
	return nil
}

// readBatches adds the batches of a folder's ledger, and checks that each has as many
// entries as its number.
func (c *content) readBatches(t *testing.T, dir string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, EvidenceDir, ledgerDir, acknowledged+"*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range files {
		in, _, closeIn, err := openZstd(filepath.Dir(path), filepath.Base(path))
		if err != nil {
			t.Fatal(err)
		}
		var text bytes.Buffer
		_, err = text.ReadFrom(in)
		closeIn()
		want := 0
		err = errors.Join(err, ledger.EachBatch(bytes.NewReader(text.Bytes()), func(source string, number uint64) error {
			c.Batches = append(c.Batches, fmt.Sprint(source, " ", number))
			want += int(number)
			return nil
		}))
		if entries, parseErr := ledger.ParseText(&text); err != nil || parseErr != nil || len(entries) != want {
			t.Errorf("%s has %d entries, want %d: %v, %v", path, len(entries), want, err, parseErr)
		}
	}
}

// appendMessage appends a frame and a batch with this number, which has as many entries.
func appendMessage(w *Writer, source string, number uint64) error {
	var entries []ledger.Entry
	for i := range number {
		entries = append(entries, entry(fmt.Sprint(source, number, i), int64(number)))
	}
	return errors.Join(w.Frame(latencies(source, number, float64(number), 7)), w.Acknowledged(source, number, entries))
}

// unfinished makes a record that is not sealed, with a flush after every few messages,
// and returns what was flushed.
func unfinished(t *testing.T, dir string) (c content) {
	t.Helper()
	w, err := Create(dir, aPlan())
	if err != nil {
		t.Fatal(err)
	}
	w.flushed = time.Now().Add(time.Hour) // flush only where this function does
	for number := range uint64(6) {
		for _, source := range []string{"worker/0", "worker/1"} {
			if err := appendMessage(w, source, number+1); err != nil {
				t.Fatal(err)
			}
			if number%2 == 1 {
				continue
			}
			if err := w.Flush(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	for number := range 6 {
		for _, source := range []string{"worker/0", "worker/1"} {
			c.Frames = append(c.Frames, fmt.Sprint(source, " ", number+1))
		}
	}
	c.readBatches(t, dir)
	if len(c.Batches) != 12 {
		t.Fatalf("batches %v", c.Batches)
	}
	return c
}

// A frames or ledger file that is cut anywhere is continued after a prefix of what was
// appended, which has everything that was flushed into the file before the cut; the
// resumed record can be appended to, sealed and opened.
func TestResumeAfterCuts(t *testing.T) { resumeAfterCuts(t, 23) }

// resumeAfterCuts cuts at bytes that are this far apart, and around the ends of what was flushed.
func resumeAfterCuts(t *testing.T, every int) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "run")
	whole := unfinished(t, dir)
	for _, name := range []string{framesFile, ledgerDir + "/acknowledged-worker-1.zst"} {
		path := filepath.Join(dir, EvidenceDir, name)
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		// The ends of the zstd frames, found independently: each begins with these bytes.
		ends := []int{0}
		for i := 1; i <= len(data); i++ {
			if i == len(data) || bytes.HasPrefix(data[i:], []byte{0x28, 0xb5, 0x2f, 0xfd}) {
				ends = append(ends, i)
			}
		}
		frames, batches := 0, 0
		for cut := range len(data) + 1 {
			if cut%every != 0 && !slices.ContainsFunc(ends, func(end int) bool { return end-1 <= cut && cut <= end+1 }) {
				continue
			}
			if err := os.WriteFile(path, data[:cut], 0o644); err != nil {
				t.Fatal(err)
			}
			var got content
			w, resumed, err := Resume(dir, got.visitFrame)
			if err != nil {
				t.Fatalf("%s cut to %d bytes: %v", name, cut, err)
			}
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			got.readBatches(t, dir)
			left, err := os.ReadFile(path)
			before := ends[len(ends)-1]
			for i, end := range ends {
				if end > cut {
					before = ends[i-1]
					break
				}
			}
			if !bytes.Equal(left, data[:before]) || err != nil && (before > 0 || !errors.Is(err, fs.ErrNotExist)) {
				t.Fatalf("%s cut to %d bytes: %d bytes are left, want %d: %v", name, cut, len(left), before, err)
			}
			checkResumed(t, resumed, got)
			other := slices.DeleteFunc(slices.Clone(whole.Batches), func(b string) bool {
				return name != framesFile && strings.HasPrefix(b, "worker/1")
			})
			if name == framesFile && !slices.Equal(got.Frames, whole.Frames[:len(got.Frames)]) ||
				name != framesFile && !slices.Equal(got.Frames, whole.Frames) ||
				!slices.Equal(got.Batches, whole.Batches[:len(got.Batches)]) || len(got.Batches) < len(other) {
				t.Fatalf("%s cut to %d bytes: %+v", name, cut, got)
			}
			if len(got.Frames) < frames || len(got.Batches) < batches {
				t.Errorf("%s cut to %d bytes has less than with fewer", name, cut)
			}
			frames, batches = len(got.Frames), len(got.Batches)
		}
		if frames != len(whole.Frames) || batches != len(whole.Batches) {
			t.Errorf("%s, not cut: %d frames and %d batches", name, frames, batches)
		}
	}
	for _, name := range []string{framesFile, ledgerDir + "/acknowledged-worker-1.zst"} {
		path := filepath.Join(dir, EvidenceDir, name)
		info, err := os.Stat(path)
		if err := errors.Join(err, os.Truncate(path, info.Size()-1)); err != nil {
			t.Fatal(err)
		}
	}
	continueAndSeal(t, dir)
}

// checkResumed compares the highest numbers with the content.
func checkResumed(t *testing.T, r Resumed, c content) {
	t.Helper()
	want := Resumed{Plan: aPlan(), Sequences: highestOf(c.Frames), Batches: highestOf(c.Batches)}
	if diff := cmp.Diff(want, r); diff != "" {
		t.Fatal(diff)
	}
}

func highestOf(all []string) map[string]uint64 {
	highest := map[string]uint64{}
	for _, text := range all {
		source, number, _ := strings.Cut(text, " ")
		var n uint64
		_, _ = fmt.Sscan(number, &n)
		highest[source] = max(highest[source], n)
	}
	return highest
}

// continueAndSeal appends what is missing up to number 9 of both workers, seals the
// record, and checks that it has everything once.
func continueAndSeal(t *testing.T, dir string) {
	t.Helper()
	w, r, err := Resume(dir, func(metric.Frame) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	var rows []ledger.Entry
	for _, source := range []string{"worker/0", "worker/1"} {
		for number := uint64(1); number <= 9; number++ {
			if number > r.Sequences[source] {
				err = errors.Join(err, w.Frame(latencies(source, number, float64(number), 7)))
			}
			var entries []ledger.Entry
			for i := range number {
				entries = append(entries, entry(fmt.Sprint(source, number, i), int64(number)))
			}
			if number > r.Batches[source] {
				err = errors.Join(err, w.Acknowledged(source, number, entries))
			}
			rows = append(rows, entries...)
		}
	}
	if err := errors.Join(err, w.Persisted(each(rows...)), w.Environment(anEnvironment()), w.Seal(someFacts(StateOK))); err != nil {
		t.Fatal(err)
	}
	checkSealed(t, dir, 9, int64(len(rows)))
}

// checkSealed opens a record of two workers that each sent this many frames.
func checkSealed(t *testing.T, dir string, frames uint64, identities int64) {
	t.Helper()
	run, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range run.Timeline.Sources() {
		if s.Frames != frames || s.Missing != 0 {
			t.Errorf("%+v, want %d frames", s, frames)
		}
	}
	if n := len(run.Timeline.Sources()); n != 2 {
		t.Errorf("%d sources", n)
	}
	want := ledger.Comparison{Acknowledged: identities, Persisted: identities, Lags: map[int64]int64{0: identities}}
	if diff := cmp.Diff(&want, run.Ledger, cmpopts.IgnoreFields(want, "BySecond", "Dates")); diff != "" {
		t.Error(diff)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
		t.Errorf("files in the folder: %v, %v", left, err)
	}
}

// A folder that cannot be continued is refused with the next step, and left as it is.
func TestResumeRefuses(t *testing.T) {
	ignore := func(metric.Frame) error { return nil }
	for name, c := range map[string]struct {
		prepare func(t *testing.T, dir string)
		want    error
		text    string
	}{
		"no folder":    {func(t *testing.T, dir string) { t.Helper(); must(t, os.RemoveAll(dir)) }, fs.ErrNotExist, "no such file"},
		"empty folder": {func(t *testing.T, dir string) { t.Helper(); must(t, os.RemoveAll(dir), os.Mkdir(dir, 0o755)) }, ErrNoRun, ""},
		"a file":       {func(t *testing.T, dir string) { t.Helper(); must(t, os.RemoveAll(dir), os.WriteFile(dir, nil, 0o644)) }, ErrNoRun, ""},
		"no plan": {func(t *testing.T, dir string) {
			t.Helper()
			must(t, os.Remove(filepath.Join(dir, EvidenceDir, planFile)))
		}, ErrNoPlan, ""},
		"sealed":    {continueAndSeal, ErrSealed, ""},
		"no lock":   {func(t *testing.T, dir string) { t.Helper(); must(t, os.Remove(filepath.Join(dir, lockFile))) }, nil, "is missing"},
		"in use":    {holdLock, ErrInUse, ""},
		"damaged":   {damage(framesFile, 40), nil, framesFile},
		"no frames": {damage(framesFile, 0), nil, framesFile},
		"ledger":    {damage(ledgerDir+"/acknowledged-worker-0.zst", 30), nil, "acknowledged-worker-0.zst"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "run")
			unfinished(t, dir)
			c.prepare(t, dir)
			before := tree(t, dir)
			w, _, err := Resume(dir, ignore)
			if err == nil || c.want != nil && !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.text) || strings.Contains(err.Error(), "\n") {
				t.Errorf("error %v", err)
			}
			if w != nil || c.want != nil && hint.Of(err) == "" {
				t.Errorf("writer %v, hint %q", w, hint.Of(err))
			}
			if diff := cmp.Diff(before, tree(t, dir)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func must(t *testing.T, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

// holdLock resumes the record until the test ends.
func holdLock(t *testing.T, dir string) {
	t.Helper()
	w, _, err := Resume(dir, func(metric.Frame) error { return nil })
	must(t, err)
	t.Cleanup(func() { must(t, w.Close()) })
}

// damage changes a byte of a file, which is not a torn end.
func damage(name string, at int) func(t *testing.T, dir string) {
	return func(t *testing.T, dir string) {
		t.Helper()
		path := filepath.Join(dir, EvidenceDir, name)
		data, err := os.ReadFile(path)
		must(t, err)
		data[at] ^= 0x55
		must(t, os.WriteFile(path, data, 0o644))
	}
}

// tree is the content of all files below a folder.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		all[path] = string(data)
		return err
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return all
}

// What the killed writer had written whole is returned; what it had not is removed.
func TestResumeReadsFacts(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	w, err := Create(dir, aPlan())
	must(t, err)
	environment := Environment{Schema: "assay/environment/v1", Host: Host{Name: "h"}, CoLocation: []string{"service"}}
	must(
		t, w.Environment(environment), w.Persisted(each(entry("a", 1))), w.Close(),
		os.WriteFile(w.path(".facts.json123"), []byte("{"), 0o600),
		os.WriteFile(w.path(ledgerDir, ".persisted.zst123"), nil, 0o600),
		os.Remove(w.path(framesFile)), // killed before it was made
	)
	w, r, err := Resume(dir, nil)
	must(t, err)
	want := Resumed{Plan: aPlan(), Environment: &environment, Sequences: map[string]uint64{}, Batches: map[string]uint64{}}
	if diff := cmp.Diff(want, r); diff != "" {
		t.Error(diff)
	}
	must(t, w.Frame(latencies("worker/0", 1, 1)), w.Seal(someFacts(StateAbsent)))
	run, err := Open(dir)
	if err != nil || run.Plan.Run != "a-run" || len(run.Timeline.Sources()) != 1 {
		t.Errorf("%+v, %v", run.Plan, err)
	}
	if left := slices.Collect(func(yield func(string) bool) {
		for path := range tree(t, dir) {
			if strings.HasPrefix(filepath.Base(path), ".") && !yield(path) {
				return
			}
		}
	}); len(left) > 0 {
		t.Errorf("temporary files are left: %v", left)
	}
}

// FuzzResumeFrames: resuming any frames file terminates, and what it accepts is a prefix
// of the file that is accepted again, whole.
func FuzzResumeFrames(f *testing.F) {
	dir := filepath.Join(f.TempDir(), "run")
	w, err := Create(dir, aPlan())
	if err != nil {
		f.Fatal(err)
	}
	path := w.path(framesFile)
	for i := range uint64(3) {
		if err := errors.Join(w.Frame(latencies("worker/0", i+1, 1, 2)), w.Flush()); err != nil {
			f.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		f.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Add(data[:len(data)-1])
	f.Add(data[:7])
	f.Add([]byte{0x28, 0xb5, 0x2f, 0xfd, 0x20, 0x05, 0x2a, 0x00, 0x00, 0x61})       // a block of one repeated byte
	f.Add([]byte{0x50, 0x2a, 0x4d, 0x18, 0x04, 0x00, 0x00, 0x00, 0x01, 0x02, 0x03}) // a frame to be skipped
	f.Fuzz(func(t *testing.T, data []byte) {
		if err := os.WriteFile(path, data, 0o644); err != nil {
			t.Fatal(err)
		}
		var first, second content
		w, _, err := Resume(dir, first.visitFrame)
		left, readErr := os.ReadFile(path)
		if err != nil || readErr != nil {
			if !bytes.Equal(left, data) || readErr != nil {
				t.Fatalf("refused with %v, but changed: %v", err, readErr)
			}
			return
		}
		if err := w.Close(); err != nil || !bytes.HasPrefix(data, left) {
			t.Fatalf("%d bytes are left of %d, %v", len(left), len(data), err)
		}
		w, _, err = Resume(dir, second.visitFrame)
		if err != nil {
			t.Fatal(err)
		}
		again, err := os.ReadFile(path)
		if err := errors.Join(err, w.Close()); err != nil || !bytes.Equal(again, left) || !slices.Equal(first.Frames, second.Frames) {
			t.Fatalf("resumed again: %v, then %v; %v", first, second, err)
		}
	})
}
