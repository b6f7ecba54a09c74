// SPDX-License-Identifier: Apache-2.0

package record

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"assay.dev/assay/internal/foreign"
	"assay.dev/assay/internal/observe/metric"
)

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
