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
	// maxIdentities is the number of identities compared at a time, at 60 to 120 bytes
	// of memory each. A larger ledger is split into parts by hash, and its files are
	// read once for each part: that takes time instead of memory, and needs no sorting
	// and no temporary files.
	maxIdentities = 3_000_000
	// minEntryBytes is the minimum size of an entry in its file: a hash cannot be
	// compressed.
	minEntryBytes = len(ledger.Hash{})
)

// openLedger compares both sides; nil where the persisted side was not read back. It
// holds about limit identities in memory.
func openLedger(dir string, fact LedgerFact, limit int64) (*ledger.Comparison, error) {
	if fact.State != StateOK {
		return nil, nil //nolint:nilnil // no ledger is a state, not an error
	}
	files, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("read ledger: %w", err)
	}
	parts, err := countParts(files, limit)
	if err != nil {
		return nil, fmt.Errorf("read ledger: %w", err)
	}
	m := ledger.NewMatcher()
	for part := range parts {
		for _, f := range files {
			add := m.Persisted
			if strings.HasPrefix(f.Name(), acknowledged) {
				add = m.Acknowledged
			}
			err := eachEntry(filepath.Join(dir, f.Name()), func(e ledger.Entry) {
				if uint64(binary.BigEndian.Uint32(e.Hash[:]))*uint64(parts)>>32 == uint64(part) {
					add(e)
				}
			})
			if err != nil {
				return nil, fmt.Errorf("read ledger: %s: %w", f.Name(), err)
			}
		}
		m.Reconcile()
	}
	c := m.Comparison()
	return &c, nil
}

// countParts is the number of parts for which no side has more than limit identities
// a part.
func countParts(files []os.DirEntry, limit int64) (int64, error) {
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
	return max(acks, rows)/(int64(minEntryBytes)*limit) + 1, nil
}

func eachEntry(path string, visit func(ledger.Entry)) error {
	in, closeIn, err := openZstd(path)
	if err != nil {
		return err
	}
	defer closeIn()
	return ledger.EachEntry(in, visit)
}
