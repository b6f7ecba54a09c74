// SPDX-License-Identifier: Apache-2.0

package record

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"

	"assay.dev/assay/internal/observe/ledger"
)

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
	offsets [][]int64 // of the blocks in the file, by part and side
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
