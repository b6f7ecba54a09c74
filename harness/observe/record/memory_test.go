package record

import (
	"encoding/binary"
	"path/filepath"
	"runtime/debug"
	"runtime/metrics"
	"testing"
	"time"

	"assay/harness/observe/ledger"
)

// manyIdentities makes n entries, one after the other: their hashes are distinct and
// spread over all values.
func manyIdentities(n int64, visit func(ledger.Entry) error) error {
	for i := range n {
		var e ledger.Entry
		binary.BigEndian.PutUint64(e.Hash[:], uint64(i)*0x9e3779b97f4a7c15)
		binary.BigEndian.PutUint64(e.Hash[8:], uint64(i)*0xd1342543de82ef95)
		e.Millis = 1_795_219_940_000 + i/10
		if err := visit(e); err != nil {
			return err
		}
	}
	return nil
}

// writeLedger writes a ledger of n identities, acknowledged by 4 workers in batches of a
// thousand, and compares it.
func writeLedger(w *Writer, n int64) (ledger.Comparison, error) {
	sources := []string{"worker/0", "worker/1", "worker/2", "worker/3"}
	var batch []ledger.Entry
	number := uint64(0)
	err := manyIdentities(n, func(e ledger.Entry) error {
		if batch = append(batch, e); len(batch) < 1000 {
			return nil
		}
		number++
		err := w.Acknowledged(sources[number%4], number/4+1, batch)
		batch = batch[:0]
		return err
	})
	if err != nil {
		return ledger.Comparison{}, err
	}
	err = w.Persisted(func(add func(ledger.Entry) error) error {
		return manyIdentities(n, func(e ledger.Entry) error {
			e.Millis += int64(e.Hash[3]) // a lag of up to 255 ms
			return add(e)
		})
	})
	if err != nil {
		return ledger.Comparison{}, err
	}
	return w.CompareLedger()
}

// highestHeap is the highest number of bytes that were live after a collection while do
// ran, less those before it.
func highestHeap(do func()) (bytes int64) {
	defer debug.SetGCPercent(debug.SetGCPercent(20))
	live := func() int64 {
		sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
		metrics.Read(sample)
		return int64(sample[0].Value.Uint64())
	}
	debug.FreeOSMemory() // collects
	before := live()
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for ticker := time.NewTicker(time.Millisecond); ; {
			select {
			case <-stop:
				ticker.Stop()
				return
			case <-ticker.C:
				bytes = max(bytes, live()-before)
			}
		}
	}()
	do()
	close(stop)
	<-done
	return bytes
}

// The entries of a ledger stream to disk and are compared in parts: the heap does not
// grow with their number.
func TestLedgerNeedsLittleMemory(t *testing.T) {
	const n = 2_000_000
	var c ledger.Comparison
	w, err := Create(filepath.Join(t.TempDir(), "run"), aPlan())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = w.Discard() }()
	start := time.Now()
	heap := highestHeap(func() { c, err = writeLedger(w, n) })
	t.Logf("%d identities in %s, %d KiB of heap", n, time.Since(start).Round(time.Millisecond), heap>>10)
	if err != nil || c.Acknowledged != n || c.Persisted != n || c.Missing+c.Duplicated+c.Unacknowledged != 0 || c.Matched() != n {
		t.Errorf("%+v, %v", c, err)
	}
	// The entries of both sides are 96 MB, and the table that compares them at once more.
	if limit := int64(n * entryBytes); heap > limit {
		t.Errorf("the heap grew by %d bytes, the limit is %d", heap, limit)
	}
}
