// SPDX-License-Identifier: Apache-2.0

package record

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"assay.dev/assay/internal/hint"
	"assay.dev/assay/internal/observe/ledger"
	"assay.dev/assay/internal/observe/metric"
)

// Why a run folder cannot be continued.
var (
	// ErrSealed: the run has ended.
	ErrSealed = hint.With(errors.New("the record is sealed: the run has ended"),
		"judge it: assay judge RUN")
	// ErrNoPlan: the run ended before its plan was written.
	ErrNoPlan = hint.With(errors.New("the record has no plan: the run ended before it began"),
		"certify again")
)

// Resumed is what an unsealed record holds when it is continued.
type Resumed struct {
	Plan        Plan
	Environment *Environment      // nil: not written yet
	Sequences   map[string]uint64 // highest sequence of the frames of each source that numbers them
	Batches     map[string]uint64 // highest number of the acknowledged batches of each source
}

// Resume continues an unsealed record whose writer was killed at any instant. It visits
// the frames in the order in which they were appended, and removes a torn end of each
// file, which no flush had completed. A frame's points are valid until visit returns.
// If it fails, nothing that was flushed is lost.
func Resume(dir string, visit func(metric.Frame) error) (*Writer, Resumed, error) {
	w, err := openUnsealed(dir)
	if err != nil {
		return nil, Resumed{}, fmt.Errorf("continue record %s: %w", dir, err)
	}
	r := Resumed{Sequences: map[string]uint64{}, Batches: map[string]uint64{}}
	err = cmp.Or(w.removeTemporary(), w.readFacts(&r))
	if err == nil {
		err = w.continueFrames(r.Sequences, visit)
	}
	if err == nil {
		err = w.continueLedger(r.Batches)
	}
	if err != nil {
		err = fmt.Errorf("continue record %s: %w", dir, err)
		return nil, Resumed{}, errors.Join(err, w.Close())
	}
	w.run = r.Plan.Run
	return w, r, nil
}

// ReadPlan reads the plan of a run folder, sealed or not.
func ReadPlan(dir string) (p Plan, err error) {
	err = readDocument(dir, planFile, &p, func() error { return p.check() })
	if errors.Is(err, fs.ErrNotExist) {
		err = ErrNoRun
	}
	if err != nil {
		return Plan{}, fmt.Errorf("read plan of %s: %w", dir, err)
	}
	return p, nil
}

// openUnsealed locks an unsealed record.
func openUnsealed(dir string) (*Writer, error) {
	if err := checkUnsealed(dir); err != nil {
		return nil, err
	}
	if err := checkKinds(dir); err != nil {
		return nil, err
	}
	w, err := newWriter(dir, 0)
	if err != nil {
		return nil, err
	}
	if err := checkUnsealed(dir); err != nil { // sealed by the last holder of the lock
		w.unlock(false)
		return nil, err
	}
	return w, nil
}

// checkUnsealed requires a run folder that is not sealed.
func checkUnsealed(dir string) error {
	_, err := manifestOrWhyNot(dir)
	switch {
	case err == nil:
		return ErrSealed
	case !errors.Is(err, ErrNotSealed):
		return err
	}
	if _, err := os.Lstat(filepath.Join(dir, EvidenceDir, planFile)); errors.Is(err, fs.ErrNotExist) {
		return ErrNoPlan
	}
	return nil
}

// checkKinds refuses anything but files and folders: whoever made the record may have let a
// link lead to what is not to be appended to.
func checkKinds(dir string) error {
	return filepath.WalkDir(filepath.Join(dir, EvidenceDir), func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && !d.Type().IsRegular() {
			err = fmt.Errorf("%s is neither a file nor a folder", path)
		}
		return err
	})
}

// removeTemporary removes files that the killed writer had not renamed yet.
func (w *Writer) removeTemporary() error {
	for _, dir := range []string{w.path(), w.path(ledgerDir)} {
		files, err := readFolder(dir, maxFiles)
		for _, f := range files {
			if strings.HasPrefix(f.Name(), ".") {
				err = errors.Join(err, os.Remove(filepath.Join(dir, f.Name())))
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// readFacts reads what is not appended to.
func (w *Writer) readFacts(r *Resumed) error {
	var err error
	if r.Plan, err = ReadPlan(w.dir); err != nil {
		return err
	}
	var e Environment
	switch err = readDocument(w.dir, environmentFile, &e, func() error { return e.check() }); {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	}
	r.Environment = &e
	return nil
}

// continueFrames opens the file of frames, and sets the highest sequence of each source.
func (w *Writer) continueFrames(highest map[string]uint64, visit func(metric.Frame) error) (err error) {
	w.frames, err = continueZstd(w.path(framesFile), w.encoder, func(in io.Reader) error {
		return readFrames(in, w.path(framesFile), func(f metric.Frame) error {
			if f.Sequence > 0 {
				highest[f.Source] = max(highest[f.Source], f.Sequence)
			}
			return visit(f)
		})
	})
	return err
}

// continueLedger opens the files of acknowledged identities, and sets the number of the
// highest batch of each source.
func (w *Writer) continueLedger(highest map[string]uint64) error {
	files, err := readFolder(w.path(ledgerDir), maxFiles)
	if err != nil {
		return err
	}
	for _, f := range files {
		if !strings.HasPrefix(f.Name(), acknowledged) {
			continue
		}
		source, found := "", false
		s, err := continueZstd(w.path(ledgerDir, f.Name()), w.encoder, func(in io.Reader) error {
			return ledger.EachBatch(in, func(from string, number uint64) error {
				if found && from != source {
					return fmt.Errorf("batches of both %s and %s", source, from)
				}
				source, found = from, true
				highest[source] = max(highest[source], number)
				return nil
			})
		})
		if err != nil {
			return err
		}
		if !found { // the first flush was torn, and with it the name of the source
			if err := errors.Join(s.close(), os.Remove(s.file.Name())); err != nil {
				return err
			}
			continue
		}
		w.acks[source] = s
	}
	return nil
}

// CheckAsked returns an error unless a record that somebody else has made is of the run that
// was asked for: an older one, or one of another profile, may be in its place.
func CheckAsked(dir string, asked Plan) error {
	made, err := ReadPlan(dir)
	if err != nil {
		return err
	}
	for _, of := range []struct{ what, made, asked string }{
		{"run", made.Run, asked.Run},
		{"profile", made.Profile.Name, asked.Profile.Name},
		{"thresholds", made.Thresholds.SHA256, asked.Thresholds.SHA256},
		{"target", made.Target, asked.Target},
		{"scope", made.Scope, asked.Scope},
		{"overrides", fmt.Sprint(made.Overrides), fmt.Sprint(asked.Overrides)},
	} {
		if of.made != of.asked {
			return hint.With(fmt.Errorf("the record in %s is not of the run that was asked for: its %s is %.100q, not %.100q", dir, of.what, of.made, of.asked),
				"find out who has made it, and certify again")
		}
	}
	return nil
}
