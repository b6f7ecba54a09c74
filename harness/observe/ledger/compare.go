package ledger

import (
	"crypto/sha256"
	"maps"
	"math"
	"slices"
)

// Hash is the recorded form of a transaction's identity: the first 16 bytes of
// SHA-256 over the run id, a zero byte and the identity, so that evidence holds no
// business keys.
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

// Comparison is the result of comparing acknowledged with persisted transactions, by
// identity as multisets.
type Comparison struct {
	Acknowledged   int64 `json:"acknowledged"`
	Persisted      int64 `json:"persisted"`
	Missing        int64 `json:"missing"`        // acknowledgements without a persisted row
	Duplicated     int64 `json:"duplicated"`     // rows beyond the number acknowledged; of a never acknowledged identity, beyond the first row
	Unacknowledged int64 `json:"unacknowledged"` // identities persisted but never acknowledged: timed out or failed at the client
	// Lags are the times from acknowledgement to persistence in milliseconds, sorted,
	// of identities that have both; 0 where persisted before acknowledged.
	Lags []float64 `json:"-"`
}

// Compare compares the two sides.
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

// Matcher compares two sides entry by entry, in any order. Its memory grows with the
// number of distinct identities. A ledger that is too large for that is compared in
// parts of disjoint identities, with a call of Reconcile after each.
type Matcher struct {
	unmatched map[Hash]sides
	lags      map[int64]int64 // number of identities, by lag in milliseconds
	c         Comparison
}

// sides counts the entries of one identity.
type sides struct {
	acks, rows        int32
	firstAck, lastRow int64 // unix ms
}

// NewMatcher makes an empty matcher.
func NewMatcher() *Matcher { return &Matcher{unmatched: map[Hash]sides{}, lags: map[int64]int64{}} }

// Acknowledged adds an entry of the acknowledged side.
func (m *Matcher) Acknowledged(e Entry) {
	m.c.Acknowledged++
	s := m.unmatched[e.Hash]
	if s.acks == 0 || e.Millis < s.firstAck {
		s.firstAck = e.Millis
	}
	s.acks++
	m.unmatched[e.Hash] = s
}

// Persisted adds an entry of the persisted side.
func (m *Matcher) Persisted(e Entry) {
	m.c.Persisted++
	s := m.unmatched[e.Hash]
	s.rows++
	s.lastRow = max(s.lastRow, e.Millis)
	m.unmatched[e.Hash] = s
}

// Reconcile compares the identities added so far and releases their memory. None of
// them may be added again.
func (m *Matcher) Reconcile() {
	for _, s := range m.unmatched {
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
	clear(m.unmatched)
}

// Comparison reconciles the remaining identities and returns the result over all
// parts. The matcher cannot be used after it.
func (m *Matcher) Comparison() Comparison {
	m.Reconcile()
	m.unmatched = nil
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

// Lag is the persist lag of rank ceil(q n) in milliseconds, q in [0, 1]; false where
// no identity is on both sides.
func (c Comparison) Lag(q float64) (float64, bool) {
	if len(c.Lags) == 0 {
		return 0, false
	}
	rank := int(math.Ceil(q * float64(len(c.Lags))))
	return c.Lags[min(max(rank, 1), len(c.Lags))-1], true
}
