// SPDX-License-Identifier: Apache-2.0

package record

import (
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"

	"github.com/klauspost/compress/zstd"

	"assay.dev/assay/internal/foreign"
	"assay.dev/assay/internal/hint"
)

// Difference is one evidence file that differs from the manifest.
type Difference struct {
	Path string // relative to evidence/
	How  string // "is missing", "was added", or "has changed"
}

// How a file may differ.
const (
	missingFile = "is missing"
	changedFile = "has changed"
	addedFile   = "was added"
)

// Differences compares every evidence file of a run folder with a manifest that
// ReadManifest has read: the files of the manifest in its order, then the added files by
// path. The manifest itself is protected by its digest, which the certificate holds.
func Differences(dir string, manifest []byte) (sealed Manifest, all []Difference, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("open record %s: %w", dir, err)
		}
	}()
	evidence := filepath.Join(dir, EvidenceDir)
	if err = foreign.DecodeJSON(manifest, MaxValues, &sealed); err == nil {
		err = checkSchema(sealed.Schema, manifestSchema)
	}
	if err == nil && len(sealed.Files) > maxFiles {
		err = fmt.Errorf("it names %d files, a record has at most %d", len(sealed.Files), maxFiles)
	}
	if err != nil {
		return sealed, nil, hint.With(fmt.Errorf("%s is damaged: %w", manifestFile, err), hint.Of(ErrChanged))
	}
	sizes, err := sizesOf(evidence)
	if err != nil {
		return sealed, nil, err
	}
	for _, f := range sealed.Files {
		size, ok := sizes[f.Path]
		delete(sizes, f.Path)
		switch {
		case !ok:
			all = append(all, Difference{f.Path, missingFile})
			continue
		case size != f.Size: // which need not be read
			all = append(all, Difference{f.Path, changedFile})
			continue
		}
		sum, err := digestFile(filepath.Join(evidence, filepath.FromSlash(f.Path)), size)
		none := errors.Is(err, zstd.ErrMagicMismatch) // which this program has not written
		if err != nil && !none {
			return sealed, nil, err
		}
		if none || sum != f.SHA256 {
			all = append(all, Difference{f.Path, changedFile})
		}
	}
	for _, path := range slices.Sorted(maps.Keys(sizes)) {
		all = append(all, Difference{path, addedFile})
	}
	return sealed, all, nil
}
