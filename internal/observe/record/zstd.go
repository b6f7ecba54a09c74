// SPDX-License-Identifier: Apache-2.0

package record

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/klauspost/compress/zstd"

	"assay.dev/assay/internal/foreign"
)

// flushBytes is the size at which appended messages are written without waiting for a
// flush: larger ones hardly compress better.
const flushBytes = 256 << 10

// zstdSuffix ends the names of compressed files, which begin with zstdMagic, little endian
// (RFC 8878, section 3.1.1).
const (
	zstdSuffix = ".zst"
	zstdMagic  = 0xFD2FB528
)

// zstdFile is a zstd-compressed file open for appending. Each flush writes the messages
// appended since the last one as a zstd frame of their own: whatever was flushed can be
// read although the file was never closed, and a file whose writer was killed has at
// most one incomplete zstd frame, at its end. (One zstd frame over the whole file would
// be a tenth to a half smaller, but unreadable without its end, and an encoder with its
// history takes 18 MiB for each source.)
type zstdFile struct {
	file    *os.File
	encoder *zstd.Encoder // shared by the files of a record
	pending []byte        // messages appended since the last flush
	closed  bool
	err     error // error of the first write that failed; no other may follow it
}

func createZstd(path string, e *zstd.Encoder) (*zstdFile, error) {
	// Two sources with the same file name must not overwrite each other.
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, fmt.Errorf("open record: %w", err)
	}
	return &zstdFile{file: f, encoder: e}, nil
}

// continueZstd opens a file whose writer was killed. It calls read with the content of
// its whole zstd frames, removes the rest, and appends after them. A file that read
// rejects is left as it is.
func continueZstd(path string, e *zstd.Encoder, read func(io.Reader) error) (_ *zstdFile, err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR|noFollow, 0o644)
	if err != nil {
		return nil, fmt.Errorf("open record: %w", err)
	}
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, errors.Join(fmt.Errorf("open record: %s: %w", path, cmp.Or(err, foreign.ErrKind)), f.Close())
	}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("%s: %w", filepath.Base(path), err), f.Close())
		}
	}()
	size, err := wholeFrames(f)
	if err != nil {
		return nil, err
	}
	in, closeIn, err := decompress(io.NewSectionReader(f, 0, size), size)
	if err != nil {
		return nil, err
	}
	defer closeIn()
	if err = read(in); err == nil {
		err = f.Truncate(size)
	}
	if err == nil {
		_, err = f.Seek(size, io.SeekStart)
	}
	if err != nil {
		return nil, err
	}
	return &zstdFile{file: f, encoder: e}, nil
}

// append appends one message, which is never divided between two zstd frames.
func (s *zstdFile) append(parts ...[]byte) error {
	if s.closed {
		return fmt.Errorf("append to record: %s: %w", filepath.Base(s.file.Name()), os.ErrClosed)
	}
	if s.err != nil {
		return s.err
	}
	for _, p := range parts {
		s.pending = append(s.pending, p...)
	}
	if len(s.pending) < flushBytes {
		return nil
	}
	return s.flush()
}

// flush writes the pending messages to the file.
func (s *zstdFile) flush() error {
	if s.err != nil || len(s.pending) == 0 {
		return s.err
	}
	if _, err := s.file.Write(s.encoder.EncodeAll(s.pending, nil)); err != nil {
		s.err = fmt.Errorf("append to record: %w", err)
	}
	s.pending = s.pending[:0]
	if cap(s.pending) > 4*flushBytes { // after a message of exceptional size
		s.pending = nil
	}
	return s.err
}

// close flushes and closes the file; further calls return the same error.
func (s *zstdFile) close() error {
	if !s.closed {
		s.closed, s.err = true, cmp.Or(s.flush(), s.file.Close())
	}
	return s.err
}

// openZstd opens a compressed file below a run folder, and returns its size.
func openZstd(dir, name string) (_ io.Reader, size int64, closeIn func(), err error) {
	f, err := foreign.OpenIn(dir, name, maxZstd)
	if err != nil {
		return nil, 0, nil, err
	}
	info, err := f.Stat()
	if err != nil {
		return nil, 0, nil, errors.Join(err, f.Close())
	}
	in, closeZstd, err := decompress(f, info.Size())
	if err != nil {
		return nil, 0, nil, errors.Join(err, f.Close())
	}
	return in, info.Size(), func() { closeZstd(); _ = f.Close() }, nil // only read
}

// decompress reads a compressed file of this size, and limits what it expands to.
func decompress(file io.Reader, size int64) (_ io.Reader, closeZstd func(), err error) {
	e := &foreign.Expanding{Sent: file, Size: size, Base: expandBytes, Ratio: expandRatio, Shrink: shrinkRatio}
	z, err := zstd.NewReader(e.Compressed(), zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindow))
	if err != nil {
		return nil, nil, err
	}
	e.From = z
	return e, z.Close, nil
}

// wholeFrames is the size of the whole zstd frames at the start of a file, without an
// incomplete one at its end.
func wholeFrames(file io.Reader) (size int64, err error) {
	in := bufio.NewReader(file)
	for {
		n, err := skipZstdFrame(in)
		switch {
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
			return size, nil
		case err != nil:
			return 0, fmt.Errorf("zstd frame at byte %d: %w", size, err)
		}
		size += n
	}
}

// skipZstdFrame reads one zstd frame: a header, blocks, and a checksum of 4 bytes if the
// header says so. Each block begins with 3 bytes: 1 bit that marks the last one, 2 bits
// of type, and 21 bits of size (RFC 8878, sections 3.1.1 and 3.1.1.2).
func skipZstdFrame(in *bufio.Reader) (size int64, err error) {
	skip := func(n int) {
		if err == nil {
			n, err = in.Discard(n)
			size += int64(n)
		}
	}
	start, err := in.Peek(zstd.HeaderMaxSize)
	if err != nil && !errors.Is(err, io.EOF) { // a small frame at the end is shorter
		return 0, err
	}
	var header zstd.Header
	if err := header.Decode(start); err != nil {
		return 0, err
	}
	err = nil
	skip(header.HeaderSize)
	const repeatedByte, reserved = 1, 3
	for last := false; err == nil && !last; {
		var block []byte
		if block, err = in.Peek(3); err != nil {
			break
		}
		bits := int(block[0]) | int(block[1])<<8 | int(block[2])<<16
		last = bits&1 == 1
		skip(3)
		switch bits >> 1 & 3 {
		case repeatedByte:
			skip(1)
		case reserved:
			return 0, errors.New("block of an unknown type")
		default:
			skip(bits >> 3)
		}
	}
	if header.HasCheckSum {
		skip(4)
	}
	return size, err
}
