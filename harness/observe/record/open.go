package record

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"assay/harness/hint"
	"assay/harness/observe/metric"
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
	evidence := filepath.Join(dir, EvidenceDir)
	manifest, err := unchanged(dir)
	if err != nil {
		return Run{}, err
	}
	sum := sha256.Sum256(manifest)
	r := Run{Manifest: "sha256:" + hex.EncodeToString(sum[:])}
	for name, into := range map[string]any{planFile: &r.Plan, environmentFile: &r.Environment, factsFile: &r.Facts} {
		data, err := os.ReadFile(filepath.Join(evidence, name))
		if err == nil {
			err = json.Unmarshal(data, into)
		}
		if err != nil {
			return Run{}, fmt.Errorf("open record %s: %s: %w", dir, name, err)
		}
	}
	r.Plan.Load = r.Plan.Load.At(r.Facts.Look)
	if r.Timeline, err = r.ReadTimeline(dir, nil); err != nil {
		return Run{}, err
	}
	if r.Facts.Ledger.State == StateOK {
		c, err := compareLedger(dir, maxIdentities)
		if err != nil {
			return Run{}, fmt.Errorf("open record %s: %w", dir, err)
		}
		r.Ledger = &c
	}
	return r, nil
}

// ReadTimeline reads the frames of the run's folder, without the points to be left out;
// nil: with all.
func (r Run) ReadTimeline(dir string, leaveOut func(metric.Point) bool) (*Timeline, error) {
	t := r.EmptyTimeline()
	err := EachFrame(dir, func(f metric.Frame) error {
		if leaveOut != nil {
			f.Points = slices.DeleteFunc(f.Points, leaveOut)
		}
		t.Add(f)
		return nil
	})
	t.ReadPushed()
	return t, err
}

// readManifest reads the manifest of a sealed record.
func readManifest(dir string) ([]byte, error) {
	manifest, err := manifestOrWhyNot(dir)
	if err != nil {
		return nil, fmt.Errorf("open record %s: %w", dir, err)
	}
	return manifest, nil
}

func manifestOrWhyNot(dir string) ([]byte, error) {
	evidence := filepath.Join(dir, EvidenceDir)
	manifest, err := os.ReadFile(filepath.Join(evidence, manifestFile))
	if err == nil {
		return manifest, nil
	}
	if _, missing := os.Stat(dir); missing != nil {
		return nil, hint.With(errors.Unwrap(missing), hint.Of(ErrNoRun))
	}
	if info, statErr := os.Stat(evidence); statErr != nil || !info.IsDir() {
		err = ErrNoRun
	} else if errors.Is(err, os.ErrNotExist) {
		err = ErrNotSealed
	}
	return nil, err
}

// CheckSeal returns an error if a run folder's evidence is not as it was sealed.
func CheckSeal(dir string) error {
	_, err := unchanged(dir)
	return err
}

// unchanged returns the manifest of a sealed record after comparing all files with it.
func unchanged(dir string) ([]byte, error) {
	manifest, err := readManifest(dir)
	if err != nil {
		return nil, err
	}
	if err := compareFiles(filepath.Join(dir, EvidenceDir), manifest); err != nil {
		return nil, fmt.Errorf("open record %s: %w", dir, err)
	}
	return manifest, nil
}

func compareFiles(evidence string, manifest []byte) error {
	all, err := differences(evidence, manifest)
	if err != nil || len(all) == 0 {
		return err
	}
	d := all[0]
	if d.How == changedFile { // as the error says
		return fmt.Errorf("%s: %w", d.Path, ErrChanged)
	}
	return fmt.Errorf("%s %s: %w", d.Path, d.How, ErrChanged)
}

// Attempts counts the runs of a profile in a runs folder by the same revision of the
// tool, sealed or not.
func Attempts(runs, profile, revision string) (n int) {
	folders, err := os.ReadDir(runs)
	if err != nil {
		return 0 // no runs yet
	}
	for _, f := range folders {
		data, err := os.ReadFile(filepath.Join(runs, f.Name(), EvidenceDir, planFile))
		var p Plan
		if f.Type()&os.ModeSymlink != 0 || err != nil || json.Unmarshal(data, &p) != nil {
			continue // not a run folder
		}
		if p.Profile.Name == profile && p.Tool.Revision == revision {
			n++
		}
	}
	return n
}
