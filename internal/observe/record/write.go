// SPDX-License-Identifier: Apache-2.0

package record

import (
	"cmp"
	"crypto/rand"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/gofrs/flock"
	"github.com/klauspost/compress/zstd"

	"assay.dev/assay/internal/hint"
	"assay.dev/assay/internal/observe/ledger"
	"assay.dev/assay/internal/observe/metric"
)

// Files of the run folder.
const (
	EvidenceDir     = "evidence"
	SealFile        = "evidence.sigstore.json" // beside EvidenceDir: the signature of the run that sealed it
	manifestFile    = "manifest.json"
	planFile        = "plan.json"
	thresholdsFile  = "thresholds.json"
	environmentFile = "environment.json"
	factsFile       = "facts.json"
	framesFile      = "frames.otlp.pb.zst"
	ledgerDir       = "ledger"
	workersDir      = "workers"
	stubsDir        = "stubs"
	persistedFile   = "persisted.zst"
	acknowledged    = "acknowledged-"
)

// flushInterval is how often appending flushes by itself, so that a full disk is noticed
// during the run.
const flushInterval = time.Second

// Writer appends to a run folder until it is sealed. Frames, Acknowledged and Flush must
// not be called concurrently; Environment and WorkersDir may be called beside them. The
// other methods, one at a time, are for the end, when nothing is appended any more; Seal,
// Close and Discard come last.
//
// What was appended is in memory until the next flush: by Flush, at the latest by the
// first append a second after the last one. What was flushed is in the files, so that
// it survives the end of the process by any signal, and Resume continues after it. A
// crash of the machine may lose more.
type Writer struct {
	dir     string
	run     string
	made    []string // folders that Create made, innermost first
	lock    *flock.Flock
	encoder *zstd.Encoder
	frames  *zstdFile
	acks    map[string]*zstdFile // by source
	pending []*zstdFile          // files of acks that were appended to since the last flush
	flushed time.Time            // last call of Flush

	// Sealer signs the manifest when the record is sealed; nil: nobody does.
	Sealer Sealer
}

// Sealer signs records with a key.
type Sealer interface {
	// Seal makes SealFile for the manifest of a run.
	Seal(run string, manifest []byte) ([]byte, error)
	// Verify fails unless the key has sealed this run with this manifest.
	Verify(seal []byte, run string, manifest []byte) error
}

// WriteSeal signs the manifest of a sealed record that this process has brought from where
// the run was made, if the files of the record are those of the manifest. A nil sealer signs
// nothing.
func WriteSeal(dir string, s Sealer) error {
	manifest, m, err := unchanged(dir)
	if err != nil {
		return err
	}
	switch plan, err := ReadPlan(dir); {
	case err != nil:
		return err
	case plan.Run != m.Run:
		return fmt.Errorf("open record %s: %s is of another run: %w", dir, manifestFile, ErrChanged)
	}
	return writeSeal(dir, s, m.Run, manifest)
}

func writeSeal(dir string, s Sealer, run string, manifest []byte) error {
	if s == nil {
		return nil
	}
	seal, err := s.Seal(run, manifest)
	if err != nil {
		return err
	}
	return WriteFile(filepath.Join(dir, SealFile), seal)
}

// CheckEmpty returns an error if no run folder can be made: the path is a folder that is
// not empty, or a file.
func CheckEmpty(dir string) error {
	entries, err := os.ReadDir(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist), err == nil && len(entries) == 0:
		return nil
	case err == nil:
		err = fmt.Errorf("%s is not empty", dir)
	}
	return hint.With(fmt.Errorf("create run folder: %w", err), "name another folder with --out")
}

// Create makes a run folder and writes its plan. It fails if the folder exists and is
// not empty.
func Create(dir string, p Plan) (_ *Writer, err error) {
	if err := CheckEmpty(dir); err != nil {
		return nil, err
	}
	if err := p.check(); err != nil { // nobody could open the record
		return nil, fmt.Errorf("create run folder %s: the plan: %w", dir, err)
	}
	made := missing(dir)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		removeEmpty(made)
		return nil, fmt.Errorf("create run folder: %w", err)
	}
	w, err := newWriter(dir, os.O_CREATE)
	if err != nil {
		removeEmpty(made)
		return nil, fmt.Errorf("create run folder %s: %w", dir, err)
	}
	w.run, w.made = p.Run, made
	// Another run may have used the folder since it was found to be empty: what it has made
	// is not this one's to discard.
	if err := os.Mkdir(w.path(), 0o755); err != nil {
		w.unlock(false)
		return nil, fmt.Errorf("create run folder: %w", err)
	}
	err = cmp.Or(os.Mkdir(w.path(ledgerDir), 0o755), os.Mkdir(w.path(workersDir), 0o755))
	if err != nil {
		err = fmt.Errorf("create run folder: %w", err)
	} else if err = w.writeJSON(planFile, p); err == nil {
		w.frames, err = createZstd(w.path(framesFile), w.encoder)
	}
	if err != nil {
		return nil, errors.Join(err, w.Discard())
	}
	return w, nil
}

// newWriter locks a folder and returns a writer without files.
func newWriter(dir string, lockFlag int) (*Writer, error) {
	// Hashes cannot be compressed, so that more effort would save little. One goroutine, because
	// the generator may share this machine.
	e, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest))
	if err != nil {
		return nil, fmt.Errorf("open record: %w", err)
	}
	l, err := lock(dir, lockFlag)
	if err != nil {
		return nil, err
	}
	return &Writer{dir: dir, lock: l, encoder: e, acks: map[string]*zstdFile{}, flushed: time.Now()}, nil
}

// missing lists the folder and its parents that do not exist, innermost first.
func missing(dir string) (all []string) {
	for {
		if _, err := os.Lstat(dir); !errors.Is(err, fs.ErrNotExist) {
			return all
		}
		all = append(all, dir)
		dir = filepath.Dir(dir)
	}
}

func (w *Writer) path(parts ...string) string {
	return filepath.Join(append([]string{w.dir, EvidenceDir}, parts...)...)
}

// WorkersDir is the folder for the workers' logs.
func (w *Writer) WorkersDir() string { return w.path(workersDir) }

// Frame appends one frame.
func (w *Writer) Frame(f metric.Frame) error {
	encoded, err := metric.Encode(f)
	if err != nil {
		return err
	}
	return w.Frames(encoded)
}

// Frames appends the frames of one message, as metric.Encode has encoded them.
func (w *Writer) Frames(encoded []byte) error {
	if err := w.frames.append(binary.AppendUvarint(nil, uint64(len(encoded))), encoded); err != nil {
		return err
	}
	return w.flushInTime()
}

// Acknowledged appends a batch of identities that one source acknowledged. A source
// numbers its batches from 1.
func (w *Writer) Acknowledged(source string, batch uint64, entries []ledger.Entry) error {
	text, err := ledger.AppendBatch(nil, source, batch, entries)
	if err != nil {
		return err
	}
	s := w.acks[source]
	if s == nil {
		if s, err = createZstd(w.path(ledgerDir, acknowledged+strings.ReplaceAll(source, "/", "-")+zstdSuffix), w.encoder); err != nil {
			return err
		}
		w.acks[source] = s
	}
	if len(s.pending) == 0 {
		w.pending = append(w.pending, s)
	}
	if err := s.append(text); err != nil {
		return err
	}
	return w.flushInTime()
}

func (w *Writer) flushInTime() error {
	if time.Since(w.flushed) < flushInterval {
		return nil
	}
	return w.Flush()
}

// Flush writes everything appended so far to the files.
func (w *Writer) Flush() error {
	w.flushed = time.Now()
	err := w.frames.flush()
	for _, s := range w.pending {
		err = cmp.Or(err, s.flush())
	}
	if err == nil { // else further calls fail too
		w.pending = w.pending[:0]
	}
	return err
}

// Environment writes evidence/environment.json.
func (w *Writer) Environment(e Environment) error { return w.writeJSON(environmentFile, e.masked()) }

// Seal writes the facts, the manifest and its signature. Nothing can be appended
// afterwards, even if it fails.
func (w *Writer) Seal(f Facts) (err error) {
	defer func() { w.unlock(err == nil) }()
	if err := cmp.Or(w.closeFiles(), w.writeJSON(factsFile, f.masked())); err != nil { // only the first: a full disk fails both
		return fmt.Errorf("seal record: %w", err)
	}
	m, err := manifestOf(w.path(), w.run)
	if err != nil {
		return fmt.Errorf("seal record: %w", err)
	}
	manifest, err := encode(manifestFile, m)
	if err == nil {
		err = writeSeal(w.dir, w.Sealer, w.run, manifest) // before the manifest, with which the record is complete
	}
	if err != nil {
		return fmt.Errorf("seal record: %w", err)
	}
	return WriteFile(w.path(manifestFile), manifest)
}

// Close flushes and closes the files without sealing the record: Resume continues it.
func (w *Writer) Close() error {
	err := w.closeFiles()
	w.unlock(false)
	return err
}

// closeFiles closes all files, and returns the first error.
func (w *Writer) closeFiles() (err error) {
	if w.frames != nil {
		err = w.frames.close()
	}
	for _, s := range w.acks {
		err = cmp.Or(err, s.close())
	}
	return err
}

// Discard closes the files of a run that never started, and removes its evidence and
// the folders that Create made.
func (w *Writer) Discard() error {
	_ = w.closeFiles() // what they lack is removed too
	err := os.RemoveAll(w.path())
	w.unlock(true)
	removeEmpty(w.made)
	return err
}

// removeEmpty removes folders that Create made, unless another run has started in them.
func removeEmpty(made []string) {
	for _, dir := range made {
		_ = os.Remove(dir) // fails if it is not empty
	}
}

// writeJSON writes a file atomically.
func (w *Writer) writeJSON(name string, content any) error {
	data, err := encode(name, content)
	if err != nil {
		return err
	}
	return WriteFile(w.path(name), data)
}

func encode(name string, content any) ([]byte, error) {
	data, err := json.MarshalIndent(content, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("write %s: %w", name, err)
	}
	return append(data, '\n'), nil
}

// WriteFile writes a file atomically. A new file has mode 0644, as far as the umask allows.
func WriteFile(path string, data []byte) error {
	if err := atomically(path, func(f *os.File) error { _, err := f.Write(data); return err }); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}

// atomically writes a file that gets its name when it is complete. It is in the same folder
// before: another folder may be on a file system that has space when this one is full.
func atomically(path string, write func(*os.File) error) error {
	f, err := os.OpenFile(filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+"-"+rand.Text()), os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o644)
	if err != nil {
		return err
	}
	named := false
	defer func() {
		if !named {
			_, _ = f.Close(), os.Remove(f.Name())
		}
	}()
	if err := cmp.Or(write(f), f.Sync(), f.Close()); err != nil {
		return err
	}
	err = os.Rename(f.Name(), path)
	named = err == nil
	return err
}

// CheckOutputFile returns an error if a file, the value of an option, is in no existing
// folder or is a folder itself: before minutes are spent on its content.
func CheckOutputFile(option, path string) error {
	dir := filepath.Dir(path)
	const another = "name a file in an existing folder"
	switch info, err := os.Stat(dir); {
	case errors.Is(err, fs.ErrNotExist):
		return hint.With(fmt.Errorf("%s %s cannot be written: %s: %w", option, path, dir, errors.Unwrap(err)), "create the folder first: mkdir -p "+dir)
	case err != nil: // also where a parent is a file
		return hint.With(fmt.Errorf("%s %s cannot be written: %s: %w", option, path, dir, errors.Unwrap(err)), another)
	case !info.IsDir():
		return hint.With(fmt.Errorf("%s %s cannot be written: %s is not a folder", option, path, dir), another)
	}
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return hint.With(fmt.Errorf("%s %s is a folder", option, path), fmt.Sprintf("name a file in it, like: %s %s", option, filepath.Join(path, "comparison.html")))
	}
	return nil
}

// ErrInUse: another process appends to the record.
var ErrInUse = hint.With(errors.New("another process is writing the record"),
	"wait until that run has ended, or end its process")

// lockFile is in the run folder while the record is not sealed. Its writer has locked
// it; the kernel releases the lock when the writer ends in any way.
const lockFile = ".writer.lock"

// lock locks a run folder for one writer. flag is os.O_CREATE for a new one.
func lock(dir string, flag int) (*flock.Flock, error) {
	l := flock.New(filepath.Join(dir, lockFile), flock.SetFlag(flag|os.O_RDWR))
	locked, err := l.TryLock()
	switch {
	case errors.Is(err, errors.ErrUnsupported): // by the file system
		return l, nil
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("%s is missing", lockFile)
	case err != nil:
		return nil, fmt.Errorf("lock run folder: %w", err)
	case !locked:
		return nil, ErrInUse
	}
	return l, nil
}

// unlock releases the lock, and removes its file where the record cannot be continued.
func (w *Writer) unlock(remove bool) {
	if remove {
		_ = os.Remove(w.lock.Path()) // a file that is left does no harm
	}
	_ = w.lock.Unlock() // the end of the process would
}
