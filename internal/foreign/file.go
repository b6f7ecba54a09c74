// SPDX-License-Identifier: Apache-2.0

package foreign

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"assay.dev/assay/internal/crash"
	"assay.dev/assay/internal/quantity"
)

var (
	// ErrKind: a path is no regular file. A pipe would block, a device never ends, and a
	// link leads to what somebody else chose.
	ErrKind = errors.New("it is not a regular file")
	// ErrFolder: a part of a path is no folder, such as a link.
	ErrFolder = errors.New("it is not a folder")
	// ErrSize: a file is larger than what is read.
	ErrSize = errors.New("it is too large")
)

// Inode identifies a file of this machine.
type Inode struct{ device, number uint64 }

// Open opens a regular file to read it. It follows no link in the last part of the path,
// and never blocks. Other kinds of files are ErrKind, larger ones than limit bytes ErrSize.
func Open(path string, limit int64) (*os.File, error) {
	f, err := open(path)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	switch {
	case err != nil:
	case !info.Mode().IsRegular():
		err = ErrKind
	case info.Size() > limit:
		err = fmt.Errorf("%w: %s, the limit is %s", ErrSize, quantity.Format(float64(info.Size()), "By"), quantity.Format(float64(limit), "By"))
	default:
		return f, nil
	}
	_ = f.Close() // only read
	return nil, &fs.PathError{Op: "open", Path: path, Err: err}
}

// OpenIn is Open for a file below a folder that the user has named, and that may be a link
// itself. No folder between the two may be a link.
func OpenIn(folder, name string, limit int64) (*os.File, error) {
	path := folder
	for _, part := range strings.Split(filepath.Dir(name), string(filepath.Separator)) {
		if part == "." {
			continue
		}
		path = filepath.Join(path, part)
		info, err := os.Lstat(path)
		if err == nil && !info.IsDir() {
			err = &fs.PathError{Op: "open", Path: path, Err: ErrFolder}
		}
		if err != nil {
			return nil, err
		}
	}
	return Open(filepath.Join(folder, name), limit)
}

// ReadFile reads a file that Open opens. A file that grows meanwhile is ErrSize too.
func ReadFile(path string, limit int64) ([]byte, error) {
	f, err := Open(path, limit)
	return read(f, err, limit)
}

// ReadIn is ReadFile for a file that OpenIn opens.
func ReadIn(folder, name string, limit int64) ([]byte, error) {
	f, err := OpenIn(folder, name, limit)
	return read(f, err, limit)
}

// ReadLinked is ReadFile for a file that the user names, which may be a link, as those of a
// Kubernetes Secret are.
func ReadLinked(path string, limit int64) ([]byte, error) {
	real, err := filepath.EvalSymlinks(path)
	var at *fs.PathError
	if errors.As(err, &at) {
		at.Op, at.Path = "open", path // not lstat of a part of it, which no reader has asked for
	}
	if err != nil {
		return nil, err
	}
	return ReadFile(real, limit)
}

// read reads a file that was opened, unless that failed.
func read(f *os.File, err error, limit int64) ([]byte, error) {
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // it is only read
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(data)) > limit {
		err = &fs.PathError{Op: "read", Path: f.Name(), Err: fmt.Errorf("%w, the limit is %s", ErrSize, quantity.Format(float64(limit), "By"))}
	}
	if err != nil {
		return nil, err
	}
	return data, nil
}

// ReadText reads a file that the user names, in full, until ctx is done. Unlike Open it
// follows links, and reads pipes, such as that of <(command), which the writer may keep open
// for ever.
func ReadText(ctx context.Context, path string, limit int64) ([]byte, error) {
	type text struct {
		data []byte
		err  error
	}
	done := make(chan text, 1)
	crash.Go(func() {
		f, err := os.Open(path)
		data, err := read(f, err, limit)
		done <- text{data, err}
	})
	select {
	case t := <-done:
		return t.data, t.err
	case <-ctx.Done():
		return nil, &fs.PathError{Op: "read", Path: path, Err: ctx.Err()}
	}
}
