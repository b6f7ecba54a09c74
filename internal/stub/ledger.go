package stub

import (
	"encoding/hex"
	"encoding/json"
	"io"
	"sync"
	"time"

	"assay.dev/assay/internal/observe/collect/stubs"
	"assay.dev/assay/internal/observe/ledger"
)

// call is one call that has ended.
type call struct {
	id       ledger.Hash
	at       int64 // time of the call's arrival, unix ms
	took     time.Duration
	endpoint *endpoint
	outcome  string
	status   int
}

// book holds the calls of the run, in the order in which they ended.
type book struct {
	mu        sync.Mutex
	calls     []call
	forgotten int64
}

func (b *book) clear() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.calls, b.forgotten = nil, 0
}

func (b *book) add(c call) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.calls) >= stubs.MaxLedger {
		b.forgotten++
		return
	}
	b.calls = append(b.calls, c)
}

func (b *book) lost() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.forgotten
}

// write writes the calls as lines of JSON.
func (b *book) write(w io.Writer) error {
	b.mu.Lock()
	calls := b.calls[:len(b.calls):len(b.calls)] // only appended to
	b.mu.Unlock()
	lines := json.NewEncoder(w)
	for _, c := range calls {
		line := stubs.Call{Endpoint: c.endpoint.Name, At: c.at, Ms: float64(c.took.Microseconds()) / 1000, Outcome: c.outcome, Status: c.status}
		if c.id != (ledger.Hash{}) {
			line.ID = hex.EncodeToString(c.id[:])
		}
		if err := lines.Encode(line); err != nil {
			return err
		}
	}
	return nil
}
