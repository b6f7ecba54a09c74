package record

import (
	"cmp"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/renameio/v2"

	"assay/harness/hint"
	"assay/harness/observe/ledger"
	"assay/harness/observe/metric"
)

// Files of the run folder.
const (
	EvidenceDir     = "evidence"
	manifestFile    = "manifest.json"
	planFile        = "plan.json"
	environmentFile = "environment.json"
	factsFile       = "facts.json"
	framesFile      = "frames.otlp.pb.zst"
	ledgerDir       = "ledger"
	workersDir      = "workers"
	persistedFile   = "persisted.zst"
	acknowledged    = "acknowledged-"
)

// Writer appends to a run folder until it is sealed. Its methods are not safe
// for concurrent use.
type Writer struct {
	dir    string
	run    string
	made   []string // folders that Create made, innermost first
	frames *zstdFile
	second int64 // of the last frame
	acks   map[string]*zstdFile
}

// CheckEmpty returns an error if no run folder can be made: the path is a folder that is
// not empty, or a file.
func CheckEmpty(dir string) error {
	entries, err := os.ReadDir(dir)
	switch {
	case err == nil && len(entries) > 0:
		err = fmt.Errorf("create run folder: %s is not empty", dir)
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		err = fmt.Errorf("create run folder: %w", err)
	default:
		return nil
	}
	return hint.With(err, "name another folder with --out")
}

// Create makes a run folder and writes its plan. It fails if the folder exists and is
// not empty.
func Create(dir string, p Plan) (_ *Writer, err error) {
	if err := CheckEmpty(dir); err != nil {
		return nil, err
	}
	w := &Writer{dir: dir, run: p.Run, made: missing(dir), acks: map[string]*zstdFile{}}
	defer func() {
		if err != nil {
			err = errors.Join(err, w.Discard())
		}
	}()
	for _, sub := range []string{ledgerDir, workersDir} {
		if err := os.MkdirAll(filepath.Join(dir, EvidenceDir, sub), 0o755); err != nil {
			return nil, fmt.Errorf("create run folder: %w", err)
		}
	}
	if err := w.writeJSON(planFile, p); err != nil {
		return nil, err
	}
	w.frames, err = createZstd(w.path(framesFile))
	return w, err
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
	data, err := metric.Encode(f)
	if err != nil {
		return err
	}
	if err := w.frames.write(binary.AppendUvarint(nil, uint64(len(data))), data); err != nil {
		return err
	}
	if f.Second == w.second {
		return nil
	}
	// Flush about once a second, so that a full disk is noticed during the run.
	w.second = f.Second
	return w.frames.flush()
}

// Acknowledged appends identities that one source acknowledged.
func (w *Writer) Acknowledged(source string, entries []ledger.Entry) error {
	s := w.acks[source]
	if s == nil {
		var err error
		if s, err = createZstd(w.path(ledgerDir, acknowledged+strings.ReplaceAll(source, "/", "-")+".zst")); err != nil {
			return err
		}
		w.acks[source] = s
	}
	if err := s.write(ledger.AppendText(nil, entries)); err != nil {
		return err
	}
	return s.flush()
}

// Persisted writes the identities read back from the database.
func (w *Writer) Persisted(entries []ledger.Entry) error {
	s, err := createZstd(w.path(ledgerDir, persistedFile))
	if err != nil {
		return err
	}
	return errors.Join(s.write(ledger.AppendText(nil, entries)), s.close())
}

// Environment writes evidence/environment.json.
func (w *Writer) Environment(e Environment) error { return w.writeJSON(environmentFile, e) }

// Seal writes the facts and the manifest. Nothing can be appended afterwards.
func (w *Writer) Seal(f Facts) error {
	errs := []error{w.frames.close()}
	for _, s := range w.acks {
		errs = append(errs, s.close())
	}
	errs = append(errs, w.writeJSON(factsFile, f))
	if err := cmp.Or(errs...); err != nil { // only the first: a full disk fails them all
		return fmt.Errorf("seal record: %w", err)
	}
	m, err := manifestOf(w.path(), w.run)
	if err != nil {
		return fmt.Errorf("seal record: %w", err)
	}
	return w.writeJSON(manifestFile, m)
}

// Discard closes the files of a run that never started, and removes its evidence and
// the folders that Create made.
func (w *Writer) Discard() error {
	var errs []error
	if w.frames != nil {
		errs = append(errs, w.frames.close())
	}
	for _, s := range w.acks {
		errs = append(errs, s.close())
	}
	errs = append(errs, os.RemoveAll(w.path()))
	for _, dir := range w.made {
		_ = os.Remove(dir) // fails if another run has started in it
	}
	return errors.Join(errs...)
}

// writeJSON writes a file atomically.
func (w *Writer) writeJSON(name string, content any) error {
	data, err := json.MarshalIndent(content, "", "  ")
	if err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return WriteFile(w.path(name), append(data, '\n'))
}

// WriteFile writes a file atomically, with mode 0644 where it is new.
func WriteFile(path string, data []byte) error {
	// The temporary file is in the same folder: another folder may be on a file system
	// that has space when this one is full.
	err := renameio.WriteFile(path, data, 0o644, renameio.IgnoreUmask(), renameio.WithTempDir(filepath.Dir(path)))
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}
