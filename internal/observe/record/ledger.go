// SPDX-License-Identifier: Apache-2.0

package record

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"assay.dev/assay/internal/observe/ledger"
)

const (
	// maxIdentities is the number of identities compared at a time, at 60 to 120 bytes
	// of memory each. A larger ledger is divided by hash into parts.
	maxIdentities = 100_000
	// minEntryBytes is the minimum size of an entry in its file: a hash cannot be
	// compressed.
	minEntryBytes = len(ledger.Hash{})
)

// Persisted writes the identities that read gets from the database. It replaces those of
// an earlier call once read has returned all of them. An error of read is returned as
// it is.
func (w *Writer) Persisted(read func(add func(ledger.Entry) error) error) error {
	var line []byte
	return w.replace(w.path(ledgerDir, persistedFile), func(add func([]byte) error) error {
		return read(func(e ledger.Entry) error {
			line = ledger.AppendText(line[:0], []ledger.Entry{e})
			return add(line)
		})
	})
}

// StubCalls writes the lines of a stub's ledger. An error of read is returned as it is, and
// leaves no file.
func (w *Writer) StubCalls(stub string, read func(add func(line []byte) error) error) error {
	if err := os.MkdirAll(w.path(stubsDir), 0o755); err != nil {
		return fmt.Errorf("write the calls of stub %s: %w", stub, err)
	}
	return w.replace(w.path(stubsDir, stub+".jsonl.zst"), func(add func([]byte) error) error {
		return read(func(line []byte) error { return cmp.Or(add(line), add(lineFeed)) })
	})
}

var lineFeed = []byte{'\n'}

// replace writes a compressed file, atomically, once read has added all of its content.
func (w *Writer) replace(path string, read func(add func([]byte) error) error) error {
	var incomplete error
	err := atomically(path, func(f *os.File) error {
		s := &zstdFile{file: f, encoder: w.encoder}
		incomplete = cmp.Or(read(func(data []byte) error { return s.append(data) }), s.flush())
		return incomplete
	})
	if err != nil && incomplete == nil {
		err = fmt.Errorf("write %s: %w", filepath.Base(path), err)
	}
	return err
}

// RemovePersisted removes what Persisted has written: it is not all of the persisted
// side.
func (w *Writer) RemovePersisted() error {
	if err := os.Remove(w.path(ledgerDir, persistedFile)); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// CompareLedger compares what was acknowledged with what Persisted has written, as Open
// does. Nothing can be acknowledged after it. A file that somebody has removed is an error.
func (w *Writer) CompareLedger() (ledger.Comparison, error) {
	for _, s := range w.acks {
		if err := s.close(); err != nil {
			return ledger.Comparison{}, err
		}
	}
	c, err := compareLedger(w.dir, maxIdentities, All)
	// What is there afterwards was there when it was read.
	for _, s := range w.acks {
		if _, gone := os.Stat(s.file.Name()); err == nil && gone != nil {
			err = fmt.Errorf("read ledger: %w", gone)
		}
	}
	return c, err
}

// compareLedger compares both sides of a run folder's ledger. What is acknowledged must be so
// within the span. It holds about limit identities in memory.
func compareLedger(dir string, limit int64, within Span) (c ledger.Comparison, err error) {
	c, err = compareParts(dir, limit, within)
	if err != nil {
		return c, fmt.Errorf("read ledger: %w", err)
	}
	return c, nil
}

func compareParts(dir string, limit int64, within Span) (c ledger.Comparison, err error) {
	n, err := countParts(dir, limit)
	if err != nil {
		return c, err
	}
	m := ledger.NewMatcher()
	add := func(side ledger.Side, e ledger.Entry) error { m.Add(side, e); return nil }
	check := func(visit func(ledger.Side, ledger.Entry) error) func(ledger.Side, ledger.Entry) error {
		return func(side ledger.Side, e ledger.Entry) error {
			second, of := e.Millis/1000, within
			if side == ledger.Persisted { // by the database's clock, or by any column
				of = Span{-maxSecond, maxSecond}
			}
			if second < of.From || second >= of.To {
				return fmt.Errorf("identity %x is of second %d, and the run took place from %d to %d", e.Hash[:4], second, within.From, within.To)
			}
			return visit(side, e)
		}
	}
	if n == 1 {
		err := eachEntry(dir, check(add))
		return m.Comparison(), err
	}
	p, err := newParts(dir, n)
	if err != nil {
		return c, err
	}
	defer func() { err = errors.Join(err, p.close()) }()
	if err := eachEntry(dir, check(p.add)); err != nil {
		return c, err
	}
	for part := range n {
		if err := p.each(part, add); err != nil {
			return c, err
		}
		m.Reconcile()
	}
	return m.Comparison(), nil
}

// countParts is the number of parts for which no side has more than limit identities
// a part.
func countParts(dir string, limit int64) (int64, error) {
	bytes := map[ledger.Side]int64{}
	err := eachLedgerFile(dir, func(name string, side ledger.Side) error {
		info, err := os.Lstat(filepath.Join(dir, name))
		if err == nil {
			bytes[side] += info.Size()
		}
		return err
	})
	return max(bytes[ledger.Acknowledged], bytes[ledger.Persisted])/(int64(minEntryBytes)*limit) + 1, err
}

// eachEntry visits the entries of both sides, in the order of the files.
func eachEntry(dir string, visit func(ledger.Side, ledger.Entry) error) error {
	return eachLedgerFile(dir, func(name string, side ledger.Side) error {
		in, _, closeIn, err := openZstd(dir, name)
		if err == nil {
			defer closeIn()
			err = ledger.EachEntry(in, func(e ledger.Entry) error { return visit(side, e) })
		}
		if err != nil {
			return fmt.Errorf("%s: %w", filepath.Base(name), err)
		}
		return nil
	})
}

// eachLedgerFile visits the files of a run folder's ledger, by their paths in it.
func eachLedgerFile(dir string, visit func(name string, side ledger.Side) error) error {
	below := filepath.Join(EvidenceDir, ledgerDir)
	files, err := readFolder(filepath.Join(dir, below), maxFiles)
	if err != nil {
		return err
	}
	for _, f := range files {
		side := ledger.Acknowledged
		switch {
		case f.Name() == persistedFile:
			side = ledger.Persisted
		case !strings.HasPrefix(f.Name(), acknowledged):
			continue
		}
		if err := visit(filepath.Join(below, f.Name()), side); err != nil {
			return err
		}
	}
	return nil
}
