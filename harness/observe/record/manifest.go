package record

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
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
	m := Manifest{Schema: "assay/manifest/v1", Run: run}
	err := filepath.WalkDir(evidence, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(evidence, path)
		if err != nil || rel == manifestFile {
			return err
		}
		if !d.Type().IsRegular() { // reading a pipe would block
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
	defer f.Close() // read only
	h := sha256.New()
	size, err = io.Copy(h, f)
	return size, hex.EncodeToString(h.Sum(nil)), err
}
