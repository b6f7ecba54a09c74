package record

import (
	"encoding/binary"
	"path/filepath"
	"runtime/debug"
	"runtime/metrics"
	"strings"
	"testing"
	"time"

	"assay/harness/observe/ledger"
	"assay/harness/observe/metric"
	"assay/harness/observe/metric/metrictest"
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

// Exemplars, of which a long run of many workers has a million, are small however much is
// known of each.
func TestExemplarsNeedLittleMemory(t *testing.T) {
	const frames, each = 2000, 100
	tl := NewTimeline()
	heap := highestHeap(func() {
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
	// 64 each, in a list that is copied when it grows.
	if bytes, limit := heap/(frames*each), int64(200); bytes > limit {
		t.Errorf("an exemplar takes %d bytes, the limit is %d", bytes, limit)
	}
	t.Logf("%d bytes an exemplar", heap/(frames*each))
	all := tl.Exemplars("took", All)
	if first := all[0]; len(all) != frames*each || len(first.Violates()) != 2 || first.Label(metric.ExemplarOutcome) != metric.Failed || first.Series.Label("scenario") != "pay" {
		t.Errorf("%d exemplars, the first is %+v", len(all), first)
	}
}
