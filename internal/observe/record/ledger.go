// SPDX-License-Identifier: Apache-2.0

package record

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

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
		return read(func(line []byte) error { return cmp.Or(add(line), add([]byte{'\n'})) })
	})
}

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
	c, err := compareLedger(w.dir, maxIdentities, All, nil)
	// What is there afterwards was there when it was read.
	for _, s := range w.acks {
		if _, gone := os.Stat(s.file.Name()); err == nil && gone != nil {
			err = fmt.Errorf("read ledger: %w", gone)
		}
	}
	return c, err
}

// compareLedger compares both sides of a run folder's ledger. What is acknowledged must be so
// within the span. The times of rows are off by shift, by flow, in ms. It holds about limit
// identities in memory.
func compareLedger(dir string, limit int64, within Span, shift map[int]int64) (c ledger.Comparison, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("read ledger: %w", err)
		}
	}()
	n, err := countParts(dir, limit)
	if err != nil {
		return c, err
	}
	m := ledger.NewMatcher()
	m.Shift = shift
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

// zones are by how many ms the rows of each flow are off, where local times were certainly
// taken for UTC.
func (r Run) zones(c ledger.Comparison) map[int]int64 {
	var zones []time.Duration
	for _, seconds := range r.Facts.Ledger.ZoneSeconds {
		zones = append(zones, time.Duration(seconds)*time.Second)
	}
	shift := map[int]int64{}
	for i := range r.Plan.Profile.Flows {
		if ms, certain := r.LedgerWindow(i).Zone(c.Of(i).Dates, zones); certain {
			shift[i] = ms
		}
	}
	return shift
}

// EachAcknowledged visits the identities of a flow that were acknowledged. Nothing can be
// acknowledged after it.
func (w *Writer) EachAcknowledged(flow int, visit func(ledger.Hash)) error {
	for _, s := range w.acks {
		if err := s.close(); err != nil {
			return err
		}
	}
	return eachEntry(w.dir, func(side ledger.Side, e ledger.Entry) error {
		if side == ledger.Acknowledged && e.Flow == flow {
			visit(e.Hash)
		}
		return nil
	})
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

const (
	entryBytes = len(ledger.Hash{}) + 8 + 1 // hash, time as a 64-bit integer, and the number of the flow
	// blockBytes is the size of a block: a whole number of entries, at most 16 KiB.
	blockBytes = 16 << 10 / entryBytes * entryBytes
)

// parts divides the entries of a ledger by hash, so that each part holds all entries of
// its identities. Its blocks are in a temporary file of 25 bytes for each entry, and
// the last block of each part and side in memory: a ledger of any size is read once,
// in memory that hardly grows with it.
type parts struct {
	file    *os.File // removed from its folder: it disappears when it is closed
	size    int64
	n       int64
	last    [][]byte  // by part and side
	offsets [][]int64 // offsets of the blocks in the file, by part and side
	block   []byte    // scratch
}

// newParts makes n empty parts. The temporary file is in dir, whose disk has space for
// the run, or in the system's folder if dir is read-only.
func newParts(dir string, n int64) (*parts, error) {
	f, err := os.CreateTemp(dir, ".ledger-*")
	if err != nil {
		f, err = os.CreateTemp("", "assay-ledger-*")
	}
	if err != nil {
		return nil, err
	}
	if err := os.Remove(f.Name()); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &parts{file: f, n: n, last: make([][]byte, 2*n), offsets: make([][]int64, 2*n), block: make([]byte, blockBytes)}, nil
}

func (p *parts) close() error { return p.file.Close() }

// add adds an entry to its part.
func (p *parts) add(side ledger.Side, e ledger.Entry) error {
	part := int64(uint64(binary.BigEndian.Uint32(e.Hash[:])) * uint64(p.n) >> 32)
	i := 2*part + int64(side)
	if int64(len(p.offsets[i]))*int64(blockBytes/entryBytes) > maxPartEntries {
		return errors.New("identities are not spread as hashes are")
	}
	p.last[i] = append(binary.BigEndian.AppendUint64(append(p.last[i], e.Hash[:]...), uint64(e.Millis)), byte(e.Flow))
	if len(p.last[i]) < blockBytes {
		return nil
	}
	if _, err := p.file.WriteAt(p.last[i], p.size); err != nil {
		return fmt.Errorf("write temporary file: %w", err)
	}
	p.offsets[i] = append(p.offsets[i], p.size)
	p.size += int64(len(p.last[i]))
	p.last[i] = p.last[i][:0]
	return nil
}

// each visits the entries of one part.
func (p *parts) each(part int64, visit func(ledger.Side, ledger.Entry) error) error {
	for _, side := range []ledger.Side{ledger.Acknowledged, ledger.Persisted} {
		i := 2*part + int64(side)
		for _, offset := range p.offsets[i] {
			if _, err := p.file.ReadAt(p.block, offset); err != nil {
				return fmt.Errorf("read temporary file: %w", err)
			}
			if err := eachInBlock(p.block, side, visit); err != nil {
				return err
			}
		}
		if err := eachInBlock(p.last[i], side, visit); err != nil {
			return err
		}
	}
	return nil
}

func eachInBlock(block []byte, side ledger.Side, visit func(ledger.Side, ledger.Entry) error) error {
	for ; len(block) > 0; block = block[entryBytes:] {
		var e ledger.Entry
		n := copy(e.Hash[:], block)
		e.Millis, e.Flow = int64(binary.BigEndian.Uint64(block[n:])), int(block[n+8])
		if err := visit(side, e); err != nil {
			return err
		}
	}
	return nil
}
