package record

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/google/renameio/v2"
	"github.com/klauspost/compress/zstd"

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

// Manifest is evidence/manifest.json: every other evidence file.
type Manifest struct {
	Schema string         `json:"schema"` // "assay/manifest/v1"
	Run    string         `json:"run"`
	Files  []ManifestFile `json:"files"` // sorted by path
}

// ManifestFile is one evidence file; its path is relative to evidence/.
type ManifestFile struct {
	Path   string `json:"path"`
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"`
}

// Writer appends to a run folder until it is sealed. Its methods are not safe
// for concurrent use.
type Writer struct {
	dir    string
	run    string
	made   []string // folders that were not there before, the innermost first
	frames *zipFile
	second int64 // of the last frame
	acks   map[string]*zipFile
}

// Vacant tells whether a run folder can be made there: nothing stands in it,
// nor a file in its place.
func Vacant(dir string) error {
	entries, err := os.ReadDir(dir)
	switch {
	case err == nil && len(entries) > 0:
		return fmt.Errorf("create run folder: %s is not empty", dir)
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("create run folder: %w", err)
	}
	return nil
}

// Create makes a run folder with its plan. It fails where the folder exists
// and is not empty.
func Create(dir string, p Plan) (_ *Writer, err error) {
	if err := Vacant(dir); err != nil {
		return nil, err
	}
	w := &Writer{dir: dir, run: p.Run, made: missing(dir), acks: map[string]*zipFile{}}
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
	w.frames, err = createZip(w.path(framesFile))
	return w, err
}

// missing lists the folder and those above it that are not there.
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
	// Once a second, about: a disk that is full must not show only at the end.
	w.second = f.Second
	return w.frames.flush()
}

// Acknowledged appends acknowledged identities of one source.
func (w *Writer) Acknowledged(source string, entries []ledger.Entry) error {
	s := w.acks[source]
	if s == nil {
		var err error
		if s, err = createZip(w.path(ledgerDir, acknowledged+strings.ReplaceAll(source, "/", "-")+".zst")); err != nil {
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
	s, err := createZip(w.path(ledgerDir, persistedFile))
	if err != nil {
		return err
	}
	return errors.Join(s.write(ledger.AppendText(nil, entries)), s.close())
}

// Environment writes evidence/environment.json.
func (w *Writer) Environment(e Environment) error { return w.writeJSON(environmentFile, e) }

// Seal writes the facts and the manifest. Nothing can be appended after it.
func (w *Writer) Seal(f Facts) error {
	errs := []error{w.frames.close()}
	for _, s := range w.acks {
		errs = append(errs, s.close())
	}
	errs = append(errs, w.writeJSON(factsFile, f))
	if err := cmp.Or(errs...); err != nil { // a disk that is full says so once
		return fmt.Errorf("seal record: %w", err)
	}
	m, err := manifestOf(w.path(), w.run)
	if err != nil {
		return fmt.Errorf("seal record: %w", err)
	}
	return w.writeJSON(manifestFile, m)
}

// Discard closes the files of a run that never started, and leaves of its
// folder what was there before.
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
		_ = os.Remove(dir) // fails where another run has begun below it
	}
	return errors.Join(errs...)
}

// manifestOf lists the files of an evidence folder.
func manifestOf(evidence, run string) (Manifest, error) {
	m := Manifest{Schema: "assay/manifest/v1", Run: run}
	err := filepath.WalkDir(evidence, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(evidence, path)
		if err != nil || rel == manifestFile {
			return err
		}
		if !d.Type().IsRegular() { // a pipe would be waited for
			return fmt.Errorf("%s is not a file", rel)
		}
		size, sum, err := digestFile(path)
		m.Files = append(m.Files, ManifestFile{Path: filepath.ToSlash(rel), Size: size, SHA256: sum})
		return err
	})
	slices.SortFunc(m.Files, func(a, b ManifestFile) int { return strings.Compare(a.Path, b.Path) })
	return m, err
}

func digestFile(path string) (size int64, sum string, err error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, "", err
	}
	defer f.Close() // read only: nothing to lose
	h := sha256.New()
	size, err = io.Copy(h, f)
	return size, hex.EncodeToString(h.Sum(nil)), err
}

// writeJSON writes a file whole or not at all.
func (w *Writer) writeJSON(name string, content any) error {
	data, err := json.MarshalIndent(content, "", "  ")
	if err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return WriteFile(w.path(name), append(data, '\n'))
}

// WriteFile writes a file atomically, with mode 0644 where it is new.
func WriteFile(path string, data []byte) error {
	// The temporary file is in the same folder: the file system of another one may
	// have room where this one has none.
	err := renameio.WriteFile(path, data, 0o644, renameio.IgnoreUmask(), renameio.WithTempDir(filepath.Dir(path)))
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}

// zipFile is a compressed file that is appended to.
type zipFile struct {
	file   *os.File
	zip    *zstd.Encoder
	closed bool
	err    error // of the closing
}

func createZip(path string) (*zipFile, error) {
	// Two sources of one file name must not overwrite each other.
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, fmt.Errorf("open record: %w", err)
	}
	// One goroutine: the machine may be the generator's.
	z, err := zstd.NewWriter(f, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedDefault))
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open record: %w", err), f.Close())
	}
	return &zipFile{file: f, zip: z}, nil
}

func (s *zipFile) write(parts ...[]byte) error {
	if s.closed {
		return fmt.Errorf("append to record: %s: %w", filepath.Base(s.file.Name()), os.ErrClosed)
	}
	for _, p := range parts {
		if _, err := s.zip.Write(p); err != nil {
			return fmt.Errorf("append to record: %w", err)
		}
	}
	return nil
}

// flush writes what is only in memory yet.
func (s *zipFile) flush() error {
	if err := s.zip.Flush(); err != nil {
		return fmt.Errorf("append to record: %w", err)
	}
	return nil
}

// close ends the file; a second call only tells again how that went.
func (s *zipFile) close() error {
	if !s.closed {
		s.closed, s.err = true, cmp.Or(s.zip.Close(), s.file.Close())
	}
	return s.err
}
