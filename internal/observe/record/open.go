// SPDX-License-Identifier: Apache-2.0

package record

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"assay.dev/assay/internal/foreign"
	"assay.dev/assay/internal/hint"
	"assay.dev/assay/internal/mask"
	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/spec"
)

// Why a folder is not a valid sealed record.
var (
	ErrNoRun = hint.With(errors.New("not a run folder: it has no evidence"),
		"name the folder of a run, for example runs/latest")
	// ErrNotSealed: the run has no manifest because it did not finish; it cannot be
	// judged.
	ErrNotSealed = hint.With(errors.New("the record is not sealed: the run did not finish"),
		"certify again: an unfinished run cannot be judged; if only its coordinator was killed, and workers on other machines still wait: assay certify --resume FOLDER")
	// ErrChanged: files differ from the manifest.
	ErrChanged = hint.With(errors.New("the record has changed since it was sealed"),
		"restore the record as it was sealed, or certify again")
)

// Open reads a sealed run folder.
func Open(dir string) (Run, error) {
	manifest, _, err := unchanged(dir)
	if err != nil {
		return Run{}, err
	}
	r := Run{Manifest: spec.DigestOf(manifest)}
	if err := r.read(dir); err != nil {
		return Run{}, hint.With(fmt.Errorf("open record %s: %w", dir, err), hint.Of(ErrChanged))
	}
	return r, nil
}

// read reads what the evidence folder holds. The files are as they were sealed, which says
// nothing of who sealed them: each is checked before the next one is sized by it.
func (r *Run) read(dir string) (err error) {
	defer foreign.Guard(&err)
	err = cmp.Or(
		readDocument(dir, planFile, &r.Plan, func() error { return r.Plan.check() }),
		readDocument(dir, environmentFile, &r.Environment, func() error { return r.Environment.check() }),
		readDocument(dir, factsFile, &r.Facts, func() error { return r.Facts.check(r.Plan) }),
	)
	if err != nil {
		return err
	}
	leftOut, err := r.Plan.checkAsked(filepath.Join(dir, EvidenceDir))
	if err != nil {
		return err
	}
	if len(leftOut) > 0 {
		r.Facts.Limitations = append(r.Facts.Limitations, fmt.Sprintf("this trial was not judged by %d of the SLOs that were asked for: %s", len(leftOut), mask.Shorten(strings.Join(leftOut, ", "), maxWhat)))
	}
	checker := NewChecker(r.Plan)
	if !r.Facts.T0.IsZero() {
		checker.Start(r.Facts.T0)
	}
	r.Plan.Load = r.Plan.Load.At(r.Facts.Look)
	if r.Timeline, r.Contradictions, err = r.readTimeline(dir, checker); err != nil {
		return err
	}
	if r.Facts.Ledger.State == StateOK {
		c, err := compareLedger(dir, maxIdentities, r.seconds(), nil)
		if shift := r.zones(c); err == nil && len(shift) > 0 {
			c, err = compareLedger(dir, maxIdentities, r.seconds(), shift)
		}
		if err != nil {
			return err
		}
		r.Ledger = &c
	}
	return nil
}

// readTimeline reads the frames of the run's folder against which nothing is known, and why
// the others cannot have been measured.
func (r Run) readTimeline(dir string, checker *Checker) (*Timeline, []Contradiction, error) {
	t, within := r.EmptyTimeline(), r.seconds()
	t.maxSources = len(r.Plan.Load.Workers) + maxSources
	each := func(visit func(metric.Frame) error) error {
		return eachFrame(dir, func(size int64) {
			t.left, t.foreignLeft = allowanceFor(size), allowanceFor(size)
			checker.left = t.left
		}, func(f metric.Frame) error {
			switch {
			case f.Second < within.From || f.Second >= within.To:
				return fmt.Errorf("read frames: frame %d of %.100q is of second %d, and the run took place from %d to %d", f.Sequence, f.Source, f.Second, within.From, within.To)
			case f.Length < 0 || f.Length > maxLength:
				return fmt.Errorf("read frames: frame %d of %.100q covers %d seconds", f.Sequence, f.Source, f.Length)
			}
			return visit(f)
		})
	}
	contradictions, err := checker.checked(each, func(f metric.Frame) error {
		t.Add(f)
		if t.err != nil {
			return fmt.Errorf("read frames: %w", t.err)
		}
		return nil
	})
	if err == nil {
		err = t.checkRead()
	}
	if err != nil {
		return nil, nil, err
	}
	t.ReadPushed()
	return t, contradictions, nil
}

// ReadManifest reads the manifest of a sealed record.
func ReadManifest(dir string) ([]byte, error) {
	manifest, err := manifestOrWhyNot(dir)
	if err != nil {
		return nil, hint.Or(fmt.Errorf("open record %s: %w", dir, err), hint.Of(ErrChanged))
	}
	return manifest, nil
}

func manifestOrWhyNot(dir string) ([]byte, error) {
	manifest, err := foreign.ReadIn(dir, filepath.Join(EvidenceDir, manifestFile), MaxDocument)
	if err == nil {
		return manifest, nil
	}
	if _, missing := os.Stat(dir); missing != nil {
		return nil, hint.With(errors.Unwrap(missing), hint.Of(ErrNoRun))
	}
	if _, missing := os.Lstat(filepath.Join(dir, EvidenceDir)); missing != nil {
		err = ErrNoRun
	} else if errors.Is(err, os.ErrNotExist) {
		err = ErrNotSealed
	}
	return nil, err
}

// CheckSeal returns an error if a run folder's evidence is not as it was sealed.
func CheckSeal(dir string) error {
	_, _, err := unchanged(dir)
	return err
}

// unchanged returns the manifest of a sealed record after comparing all files with it.
func unchanged(dir string) (manifest []byte, sealed Manifest, err error) {
	if manifest, err = ReadManifest(dir); err != nil {
		return nil, sealed, err
	}
	sealed, all, err := Differences(dir, manifest)
	if err == nil && len(all) > 0 {
		what := all[0].Path
		if how := all[0].How; how != changedFile { // which the error says
			what += " " + how
		}
		err = fmt.Errorf("open record %s: %s: %w", dir, what, ErrChanged)
	}
	return manifest, sealed, hint.Or(err, hint.Of(ErrChanged))
}

// Documents are the documents of this name of the runs in a folder, the newest run first, as
// many as fit into maxDocuments bytes. The name of a run begins with its time.
func Documents(runs, name string) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		folders, _ := os.ReadDir(runs) // does not exist before the first run
		left := int64(maxDocuments)
		for _, f := range slices.Backward(folders) {
			if !f.IsDir() {
				continue
			}
			data, err := foreign.ReadIn(filepath.Join(runs, f.Name()), name, min(left, MaxDocument))
			if err != nil {
				continue // not a run folder
			}
			left -= int64(len(data))
			if !yield(data) {
				return
			}
		}
	}
}

// Plans are the plans of the runs in a folder, sealed or not, as Documents reads them.
func Plans(runs string) iter.Seq[Plan] {
	return func(yield func(Plan) bool) {
		for data := range Documents(runs, filepath.Join(EvidenceDir, planFile)) {
			var p Plan
			if foreign.DecodeJSON(data, MaxValues, &p) == nil && !yield(p) {
				return
			}
		}
	}
}

// EachFrame visits the frames of a sealed run folder in the order of arrival. A
// frame's points are valid until visit returns.
func EachFrame(dir string, visit func(metric.Frame) error) error {
	if _, err := ReadManifest(dir); err != nil {
		return err
	}
	return eachFrame(dir, func(int64) {}, visit)
}

// Replay visits the frames appended so far as EachFrame does, before the record is
// sealed. No frame can be appended after it.
func (w *Writer) Replay(visit func(metric.Frame) error) error {
	if err := w.frames.close(); err != nil {
		return err
	}
	return eachFrame(w.dir, func(int64) {}, visit)
}

// eachFrame visits the frames of a run folder, once it has said how large their file is.
func eachFrame(dir string, begin func(size int64), visit func(metric.Frame) error) (err error) {
	defer foreign.Guard(&err)
	name := filepath.Join(EvidenceDir, framesFile)
	in, size, closeIn, err := openZstd(dir, name)
	if err != nil {
		return fmt.Errorf("read frames: %w", err)
	}
	defer closeIn()
	begin(size)
	return readFrames(in, filepath.Join(dir, name), visit)
}

// readFrames visits the frames of a file's decompressed content. An error of visit is
// returned as it is.
func readFrames(in io.Reader, path string, visit func(metric.Frame) error) error {
	buffered := bufio.NewReader(in)
	var data bytes.Buffer
	var decoder metric.Decoder
	for n := 1; ; n++ {
		size, err := binary.ReadUvarint(buffered)
		if errors.Is(err, io.EOF) {
			return nil
		}
		switch {
		case err == nil && size > maxFrame:
			err = fmt.Errorf("%d bytes, the limit is %d", size, maxFrame)
		case err == nil && size == 0:
			err = errors.New("it is empty")
		}
		data.Reset()
		if err == nil {
			_, err = io.CopyN(&data, buffered, int64(size))
		}
		var frames []metric.Frame
		if err == nil {
			frames, err = decoder.Decode(data.Bytes())
		}
		if err != nil {
			return fmt.Errorf("read frames: %s: frame %d: %w", path, n, err)
		}
		for _, f := range frames {
			if err := visit(f); err != nil {
				return err
			}
		}
	}
}
