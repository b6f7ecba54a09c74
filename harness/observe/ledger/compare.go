package ledger

import (
	"crypto/sha256"
	"maps"
	"math"
	"slices"
)

// Hash is the identity of a transaction as it is recorded: the first 16 bytes
// of SHA-256 over the run id, a zero byte and the identity, so that evidence
// holds no business keys.
type Hash [16]byte

// HashOf hashes one identity.
func HashOf(run, id string) (h Hash) {
	sum := sha256.Sum256([]byte(run + "\x00" + id))
	copy(h[:], sum[:])
	return h
}

// Entry is one identity with the time at which it was acknowledged or
// persisted, in unix milliseconds.
type Entry struct {
	Hash   Hash
	Millis int64
}

// Comparison is acknowledged against persisted, by identity.
type Comparison struct {
	Acknowledged   int64 `json:"acknowledged"`
	Persisted      int64 `json:"persisted"`
	Missing        int64 `json:"missing"`        // acknowledged more often than persisted
	Duplicated     int64 `json:"duplicated"`     // persisted more often than acknowledged, by at least one acknowledged or first copy
	Unacknowledged int64 `json:"unacknowledged"` // persisted, never acknowledged: timed out or failed at the client
	// Lags from acknowledgement to persistence in milliseconds, sorted, of
	// identities that have both; persisted first counts as 0.
	Lags []float64 `json:"-"`
}

// Compare matches the two sides.
func Compare(acknowledged, persisted []Entry) Comparison {
	m := NewMatcher()
	for _, e := range acknowledged {
		m.Acknowledged(e)
	}
	for _, e := range persisted {
		m.Persisted(e)
	}
	return m.Comparison()
}

// Matcher compares two sides that come entry by entry, in any order. It holds
// an identity, not its entries, in memory, and of a ledger that is too large
// for that one part after the other.
type Matcher struct {
	open map[Hash]sides
	lags map[int64]int64 // how often, by milliseconds
	c    Comparison
}

// sides is what came of one identity.
type sides struct {
	acks, rows        int32
	firstAck, lastRow int64
}

// NewMatcher makes one that has seen nothing.
func NewMatcher() *Matcher { return &Matcher{open: map[Hash]sides{}, lags: map[int64]int64{}} }

// Acknowledged takes an entry of that side.
func (m *Matcher) Acknowledged(e Entry) {
	m.c.Acknowledged++
	s := m.open[e.Hash]
	if s.acks == 0 || e.Millis < s.firstAck {
		s.firstAck = e.Millis
	}
	s.acks++
	m.open[e.Hash] = s
}

// Persisted takes an entry of the other side.
func (m *Matcher) Persisted(e Entry) {
	m.c.Persisted++
	s := m.open[e.Hash]
	s.rows++
	s.lastRow = max(s.lastRow, e.Millis)
	m.open[e.Hash] = s
}

// Settle decides about the identities that came so far, none of which may come
// again, and forgets them.
func (m *Matcher) Settle() {
	for _, s := range m.open {
		acks, rows := int64(s.acks), int64(s.rows)
		m.c.Missing += max(0, acks-rows)
		if acks == 0 {
			m.c.Unacknowledged++
		}
		m.c.Duplicated += max(0, rows-max(1, acks))
		if acks > 0 && rows > 0 {
			m.lags[max(0, s.lastRow-s.firstAck)]++
		}
	}
	clear(m.open)
}

// Comparison settles what is open and is what all came to. It is the last
// thing asked.
func (m *Matcher) Comparison() Comparison {
	m.Settle()
	m.open = nil
	n := int64(0)
	for _, times := range m.lags {
		n += times
	}
	if n > 0 {
		m.c.Lags = make([]float64, 0, n)
	}
	for _, millis := range slices.Sorted(maps.Keys(m.lags)) {
		for range m.lags[millis] {
			m.c.Lags = append(m.c.Lags, float64(millis))
		}
	}
	return m.c
}

// Lag is the persist lag of rank ceil(q n) in milliseconds; false where no
// identity has both sides.
func (c Comparison) Lag(q float64) (float64, bool) {
	if len(c.Lags) == 0 {
		return 0, false
	}
	rank := int(math.Ceil(q * float64(len(c.Lags))))
	return c.Lags[min(max(rank, 1), len(c.Lags))-1], true
}
