// SPDX-License-Identifier: Apache-2.0

package record

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/klauspost/compress/zstd"

	"assay.dev/assay/internal/foreign"
	"assay.dev/assay/internal/hint"
	"assay.dev/assay/internal/quantity"
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

// manifestOf lists the files of an evidence folder.
func manifestOf(evidence, run string) (Manifest, error) {
	m := Manifest{Schema: manifestSchema, Run: run}
	sizes, err := sizesOf(evidence)
	if err != nil {
		return m, err
	}
	for _, path := range slices.Sorted(maps.Keys(sizes)) {
		sum, err := digestFile(filepath.Join(evidence, filepath.FromSlash(path)), sizes[path])
		if err != nil {
			return m, err
		}
		m.Files = append(m.Files, ManifestFile{Path: path, Size: sizes[path], SHA256: sum})
	}
	return m, nil
}

// sizesOf are the sizes of all files of an evidence folder except its manifest, by path. It
// opens none of them, and refuses what is neither a file nor a folder, is too large, or has
// several names.
func sizesOf(evidence string) (map[string]int64, error) {
	sizes := map[string]int64{}
	var total, onDisk int64
	names := map[foreign.Inode]string{}
	folders := []string{"."}
	for n := 0; n < len(folders); n++ {
		entries, err := readFolder(filepath.Join(evidence, folders[n]), maxFiles-len(sizes)-len(folders))
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			path := filepath.Join(folders[n], e.Name())
			switch info, err := e.Info(); {
			case err != nil:
				return nil, err
			case e.IsDir():
				folders = append(folders, path)
			case !info.Mode().IsRegular():
				return nil, fmt.Errorf("%s is not a file", path)
			case info.Size() > maxSize(path):
				return nil, fmt.Errorf("%s: %w: %s, the limit is %s", path, foreign.ErrSize, quantity.Format(float64(info.Size()), "By"), quantity.Format(float64(maxSize(path)), "By"))
			case path != manifestFile:
				id, bytes, known := foreign.OnDisk(info)
				if same := names[id]; known && same != "" { // read for each of its names
					return nil, fmt.Errorf("%s and %s are one file", same, path)
				}
				if !known {
					bytes = info.Size()
				}
				names[id] = path
				sizes[filepath.ToSlash(path)] = info.Size()
				total += info.Size()
				onDisk += bytes
			}
		}
	}
	if total > sparseBytes && onDisk < total/sparseShare {
		return nil, fmt.Errorf("of the %s of its files only %s are on the disk", quantity.Format(float64(total), "By"), quantity.Format(float64(onDisk), "By"))
	}
	return sizes, nil
}

// maxSize bounds a file of the evidence.
func maxSize(path string) int64 {
	if strings.HasSuffix(path, zstdSuffix) {
		return maxZstd
	}
	return MaxLog
}

// readFolder reads the entries of a folder, sorted by name, of which there may be so many.
func readFolder(path string, limit int) ([]fs.DirEntry, error) {
	f, err := foreign.OpenFolder(path)
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // it is only read
	entries, err := f.ReadDir(max(limit, 0) + 1)
	switch {
	case errors.Is(err, io.EOF): // it is empty
		return nil, nil
	case err == nil && len(entries) > limit:
		err = fmt.Errorf("a record has at most %d files", maxFiles)
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return entries, err
}

// digestFile is the SHA-256 of a file of this size. One that is named like a compressed file
// and is none is zstd.ErrMagicMismatch, however large it is.
func digestFile(path string, size int64) (sum string, err error) {
	f, err := foreign.Open(path, size)
	if err != nil {
		return "", err
	}
	defer f.Close() //nolint:errcheck // it is only read
	h := sha256.New()
	if strings.HasSuffix(path, zstdSuffix) && size > 0 {
		var magic [4]byte
		if _, err := io.ReadFull(io.TeeReader(f, h), magic[:]); err != nil || binary.LittleEndian.Uint32(magic[:]) != zstdMagic {
			return "", fmt.Errorf("%s: %w", filepath.Base(path), zstd.ErrMagicMismatch)
		}
	}
	if _, err = io.Copy(h, io.LimitReader(f, size)); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

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
