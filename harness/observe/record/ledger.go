package record

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"assay/harness/observe/ledger"
)

const (
	// maxIdentities are compared at a time, at 60 to 120 bytes each. A larger ledger
	// is read once for each part of that size: it costs time instead of memory, and
	// nothing has to be sorted or written.
	maxIdentities = 3_000_000
	// leastBytes is the least size of an entry in its file: a hash cannot be
	// compressed.
	leastBytes = len(ledger.Hash{})
)

// openLedger compares both sides; nil where the persisted side was not read back. It
// holds about the given number of identities in memory.
func openLedger(dir string, fact LedgerFact, most int64) (*ledger.Comparison, error) {
	if fact.State != StateOK {
		return nil, nil //nolint:nilnil // no ledger is a state, not an error
	}
	files, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("read ledger: %w", err)
	}
	parts, err := partsOf(files, most)
	if err != nil {
		return nil, fmt.Errorf("read ledger: %w", err)
	}
	m := ledger.NewMatcher()
	for part := range parts {
		for _, f := range files {
			take := m.Persisted
			if strings.HasPrefix(f.Name(), acknowledged) {
				take = m.Acknowledged
			}
			err := eachEntry(filepath.Join(dir, f.Name()), func(e ledger.Entry) {
				if uint64(binary.BigEndian.Uint32(e.Hash[:]))*uint64(parts)>>32 == uint64(part) {
					take(e)
				}
			})
			if err != nil {
				return nil, fmt.Errorf("read ledger: %s: %w", f.Name(), err)
			}
		}
		m.Settle()
	}
	c := m.Comparison()
	return &c, nil
}

// partsOf is the number of parts of at most so many identities of the larger side.
func partsOf(files []os.DirEntry, most int64) (int64, error) {
	acks, rows := int64(0), int64(0)
	for _, f := range files {
		info, err := f.Info()
		if err != nil {
			return 0, err
		}
		if strings.HasPrefix(f.Name(), acknowledged) {
			acks += info.Size()
		} else {
			rows += info.Size()
		}
	}
	return max(acks, rows)/(int64(leastBytes)*most) + 1, nil
}

func eachEntry(path string, visit func(ledger.Entry)) error {
	in, closeIn, err := openZip(path)
	if err != nil {
		return err
	}
	defer closeIn()
	return ledger.EachEntry(in, visit)
}
