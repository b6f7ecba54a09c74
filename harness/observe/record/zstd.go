package record

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/klauspost/compress/zstd"
)

// zstdFile is a zstd-compressed file open for appending.
type zstdFile struct {
	file    *os.File
	encoder *zstd.Encoder
	closed  bool
	err     error // result of close
}

func createZstd(path string) (*zstdFile, error) {
	// Two sources with the same file name must not overwrite each other.
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, fmt.Errorf("open record: %w", err)
	}
	// One goroutine, because the generator may share this machine.
	z, err := zstd.NewWriter(f, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedDefault))
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open record: %w", err), f.Close())
	}
	return &zstdFile{file: f, encoder: z}, nil
}

func (s *zstdFile) write(parts ...[]byte) error {
	if s.closed {
		return fmt.Errorf("append to record: %s: %w", filepath.Base(s.file.Name()), os.ErrClosed)
	}
	for _, p := range parts {
		if _, err := s.encoder.Write(p); err != nil {
			return fmt.Errorf("append to record: %w", err)
		}
	}
	return nil
}

// flush writes buffered data to the file.
func (s *zstdFile) flush() error {
	if err := s.encoder.Flush(); err != nil {
		return fmt.Errorf("append to record: %w", err)
	}
	return nil
}

// close closes the file; further calls return the same error.
func (s *zstdFile) close() error {
	if !s.closed {
		s.closed, s.err = true, cmp.Or(s.encoder.Close(), s.file.Close())
	}
	return s.err
}

func openZstd(path string) (io.Reader, func(), error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, nil, err
	}
	z, err := zstd.NewReader(f, zstd.WithDecoderConcurrency(1))
	if err != nil {
		return nil, nil, errors.Join(err, f.Close())
	}
	return z, func() { z.Close(); _ = f.Close() }, nil // read only
}
