package record

import (
	"encoding/binary"
	"path/filepath"
	"runtime/debug"
	"runtime/metrics"
	"strings"
	"testing"
	"time"

	"assay.dev/assay/internal/observe/ledger"
	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/testing/metrictest"
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
// thousand, and compares so many at a time.
func writeLedger(w *Writer, n, atOnce int64) (ledger.Comparison, error) {
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
	if err := w.Flush(); err != nil {
		return ledger.Comparison{}, err
	}
	return compareLedger(w.dir, atOnce, All, nil)
}

// liveHeap is the number of bytes that were live after the last collection.
func liveHeap() int64 {
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(sample)
	return int64(sample[0].Value.Uint64())
}

// retainedHeap is the number of bytes that are live after do, less those before it.
func retainedHeap(do func()) int64 {
	debug.FreeOSMemory() // collects
	before := liveHeap()
	do()
	debug.FreeOSMemory()
	return liveHeap() - before
}

// highestHeap is the highest number of bytes that were live after a collection while do
// ran, less those before it.
func highestHeap(do func()) (bytes int64) {
	defer debug.SetGCPercent(debug.SetGCPercent(20))
	debug.FreeOSMemory() // collects
	before := liveHeap()
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for ticker := time.NewTicker(time.Millisecond); ; {
			select {
			case <-stop:
				ticker.Stop()
				return
			case <-ticker.C:
				bytes = max(bytes, liveHeap()-before)
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
func TestLedgerNeedsLittleMemory(t *testing.T) { ledgerNeedsLittleMemory(t, 200_000, 5_000, 24<<20) }

// ledgerNeedsLittleMemory compares so many entries at a time. Whatever their number, the
// compressors of the ledger's files have 12 MB. All entries of both sides at once would have
// at least 110 bytes for each identity: 50 as they are, and 60 in the table that compares
// them.
func ledgerNeedsLittleMemory(t *testing.T, n, atOnce, limit int64) {
	t.Helper()
	var c ledger.Comparison
	w, err := Create(filepath.Join(t.TempDir(), "run"), aPlan())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = w.Discard() }()
	heap := highestHeap(func() { c, err = writeLedger(w, n, atOnce) })
	t.Logf("%d identities, %d KiB of heap", n, heap>>10)
	if err != nil || c.Acknowledged != n || c.Persisted != n || c.Missing+c.Duplicated+c.Unacknowledged != 0 || c.Matched() != n {
		t.Errorf("%+v, %v", c, err)
	}
	if heap > limit {
		t.Errorf("the heap grew by %d bytes, the limit is %d", heap, limit)
	}
}

// Exemplars, of which a long run of many workers has a million, are small however much is
// known of each.
func TestExemplarsNeedLittleMemory(t *testing.T) { exemplarsNeedLittleMemory(t, 300) }

func exemplarsNeedLittleMemory(t *testing.T, frames int64) {
	t.Helper()
	const each = 100
	tl := NewTimeline()
	heap := retainedHeap(func() {
		for i := range uint64(frames) {
			p := metric.HistPoint(metric.NewSeries("took", "ms", "scenario", "pay"), metrictest.Hist(1))
			for k := range int64(each) {
				p.Exemplars = append(p.Exemplars, metric.Exemplar{Nanos: k, Labels: append(
					metric.ViolatesLabels([]string{"transaction_duration:p(95)<250", "http_req_failed:rate<0.01"}),
					metric.Label{Key: metric.ExemplarOutcome, Value: strings.Clone(metric.Failed)},
				)})
			}
			tl.Add(metric.Frame{Source: "worker/0", Sequence: i + 1, Second: 1, Points: []metric.Point{p}})
		}
	})
	// 64 each, in a list that has room to grow.
	if bytes, limit := heap/(frames*each), int64(100); bytes > limit {
		t.Errorf("an exemplar takes %d bytes, the limit is %d", bytes, limit)
	}
	t.Logf("%d bytes an exemplar", heap/(frames*each))
	all := tl.Exemplars("took", All)
	if first := all[0]; int64(len(all)) != frames*each || len(first.Violates()) != 2 || first.Label(metric.ExemplarOutcome) != metric.Failed || first.Series.Label("scenario") != "pay" {
		t.Errorf("%d exemplars, the first is %+v", len(all), first)
	}
}
