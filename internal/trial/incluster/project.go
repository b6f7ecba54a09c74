package incluster

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"assay.dev/assay/internal/foreign"
	"assay.dev/assay/internal/hint"
	"assay.dev/assay/internal/wire"
)

// maxProject bounds the archive of a project, bytes: a Secret holds 1 MiB, encoded.
const maxProject = 700 << 10

// Pack makes an archive of files. Their common folder becomes its root, in which folder
// is that of the first file.
func Pack(paths ...string) (archive []byte, folder string, err error) {
	files := map[string]bool{} // by their absolute paths
	root := ""
	for i, path := range paths {
		absolute, err := filepath.Abs(path)
		if err != nil {
			return nil, "", fmt.Errorf("pack the project: %w", err)
		}
		files[absolute] = true
		if i == 0 {
			root, folder = filepath.Dir(absolute), filepath.Dir(absolute)
		}
		for !within(root, absolute) {
			root = filepath.Dir(root)
		}
	}
	var out bytes.Buffer
	zip := gzip.NewWriter(&out)
	w := tar.NewWriter(zip)
	for _, absolute := range slices.Sorted(maps.Keys(files)) {
		data, err := foreign.ReadLinked(absolute, wire.MaxArchive)
		if err == nil {
			err = writeFile(w, root, absolute, int64(len(data)), bytes.NewReader(data))
		}
		if err != nil {
			return nil, "", fmt.Errorf("pack the project: %w", err)
		}
	}
	if err := errors.Join(w.Close(), zip.Close()); err != nil {
		return nil, "", fmt.Errorf("pack the project: %w", err)
	}
	if out.Len() > maxProject {
		return nil, "", hint.With(fmt.Errorf("the project's files have %d KiB when compressed, more than the %d KiB that a Secret holds", out.Len()>>10, maxProject>>10),
			"open smaller files in the scripts, or run the coordinator outside the cluster: assay certify --engine kubernetes")
	}
	folder, err = filepath.Rel(root, folder)
	return out.Bytes(), folder, err
}

func within(folder, path string) bool {
	rel, err := filepath.Rel(folder, path)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, "../")
}

// writeFile adds a file below a folder to an archive.
func writeFile(w *tar.Writer, root, path string, size int64, content io.Reader) error {
	name, err := filepath.Rel(root, path)
	if err != nil {
		return err
	}
	if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: filepath.ToSlash(name), Mode: 0o644, Size: size}); err != nil {
		return err
	}
	_, err = io.Copy(w, content)
	return err
}

// packFolder writes an archive of a folder.
func packFolder(w io.Writer, dir string) error {
	zip, err := gzip.NewWriterLevel(w, gzip.BestSpeed) // most of it is compressed already
	if err != nil {
		return err
	}
	out := tar.NewWriter(zip)
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		f, err := foreign.Open(path, math.MaxInt64)
		if err != nil {
			return err
		}
		defer f.Close() //nolint:errcheck // it was only read
		info, err := f.Stat()
		if err != nil {
			return err
		}
		return writeFile(out, dir, path, info.Size(), f)
	})
	return errors.Join(err, out.Close(), zip.Close())
}

// unpack writes the files of an archive below a folder, which exists, and none elsewhere:
// size bytes of them and expandRatio times what was sent, since a pod must not fill this
// machine's disk.
func unpack(r io.Reader, dir string, size int64) error {
	whole := &foreign.Expanding{Sent: r, Base: size, Ratio: expandRatio}
	zip, err := gzip.NewReader(whole.Compressed())
	if err != nil {
		return err
	}
	whole.From = zip
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close() //nolint:errcheck // nothing is written to a folder itself
	for in, files := tar.NewReader(whole), 0; ; files++ {
		h, err := in.Next()
		if errors.Is(err, io.EOF) {
			// To the end of the compressed stream, which has a checksum.
			_, err = io.Copy(io.Discard, whole)
			return err
		}
		if err == nil && files == maxFiles {
			err = fmt.Errorf("it has more than %d files", maxFiles)
		}
		if err != nil {
			return err
		}
		if h.Typeflag != tar.TypeReg {
			return fmt.Errorf("%s is no file", h.Name)
		}
		if err := root.MkdirAll(filepath.Dir(h.Name), 0o755); err != nil {
			return err
		}
		f, err := root.OpenFile(h.Name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
		if err != nil {
			return err
		}
		_, err = io.Copy(f, in)
		if err := errors.Join(err, f.Close()); err != nil {
			return err
		}
	}
}

// An archive has at most maxFiles files, as a record does, and expandBytes and expandRatio
// times its size: records are compressed already, but for their logs.
const (
	maxFiles    = 10_000
	expandBytes = 1 << 30
	expandRatio = 20
)
