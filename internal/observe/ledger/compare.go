// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"crypto/sha256"
	"maps"
	"math"
	"slices"

	"assay.dev/assay/internal/observe/metric"
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
	Flow   int // of the profile, in its order, from 0
}

// MaxFlows is the number of flows that entries can be of.
const MaxFlows = 256

// Side is one of the two sides of a ledger.
type Side int

// The sides.
const (
	Acknowledged Side = iota
	Persisted
)

// Comparison is the result of comparing acknowledged with persisted transactions, by
// identity as multisets.
type Comparison struct {
	Acknowledged   int64 `json:"acknowledged"`
	Persisted      int64 `json:"persisted"`
	Missing        int64 `json:"missing"`        // acknowledgements without a persisted row
	Duplicated     int64 `json:"duplicated"`     // rows beyond the number acknowledged; of a never acknowledged identity, beyond the first row
	Unacknowledged int64 `json:"unacknowledged"` // identities persisted but never acknowledged: timed out or failed at the client
	// Lags counts the identities that have both by the time from acknowledgement to
	// persistence, in milliseconds: 0 where persisted before acknowledged. It grows with
	// the range of the lags, not with the number of identities. Nil: no identity has both.
	Lags map[int64]int64 `json:"-"`
	// BySecond has the identities by the unix second of their first acknowledgement. It
	// grows with the length of the run. Nil: nothing was acknowledged.
	BySecond map[int64]Second `json:"-"`
	// Flows is the comparison of each flow's own ledger, by its number; nil: all entries are
	// of flow 0. An identity that one flow acknowledged and another one's ledger holds is
	// missing in the first.
	Flows []Comparison `json:"-"`
}

// Of is the comparison of one flow's ledger.
func (c Comparison) Of(flow int) Comparison {
	switch {
	case c.Flows == nil && flow == 0:
		return c
	case flow >= len(c.Flows):
		return Comparison{}
	}
	return c.Flows[flow]
}

// Second is the persist lag of the identities that were acknowledged in one second.
// Percentiles are within the resolution of metric.Hist.
type Second struct {
	Persisted     int64   // identities with a row
	Missing       int64   // identities without a row
	P50, P99, Max float64 // ms, of those with a row; 0 without any
}

// Compare compares the two sides.
func Compare(acknowledged, persisted []Entry) Comparison {
	m := NewMatcher()
	for _, e := range acknowledged {
		m.Add(Acknowledged, e)
	}
	for _, e := range persisted {
		m.Add(Persisted, e)
	}
	return m.Comparison()
}

// Matcher compares two sides entry by entry, in any order. Its memory grows with the
// number of distinct identities. A ledger that is too large for that is compared in
// parts of disjoint identities, with a call of Reconcile after each.
type Matcher struct {
	unmatched map[identity]sides
	all       comparing
	flows     []comparing // by number, from the first of a flow other than 0 on; nil: none
}

// identity of one flow's ledger.
type identity struct {
	hash Hash
	flow int32
}

// comparing is a Comparison under way.
type comparing struct {
	c       Comparison
	seconds map[int64]*second
}

// second is the identities acknowledged in one second.
type second struct {
	lags    metric.Hist // ms
	max     int64
	missing int64
}

// sides counts the entries of one identity.
type sides struct {
	acks, rows        int32
	firstAck, lastRow int64 // unix ms
}

// NewMatcher makes an empty matcher.
func NewMatcher() *Matcher {
	return &Matcher{unmatched: map[identity]sides{}}
}

// Add adds an entry of one side.
func (m *Matcher) Add(side Side, e Entry) {
	id := identity{e.Hash, int32(e.Flow)}
	s := m.unmatched[id]
	if side == Acknowledged {
		if s.acks == 0 || e.Millis < s.firstAck {
			s.firstAck = e.Millis
		}
		s.acks++
	} else {
		s.rows++
		s.lastRow = max(s.lastRow, e.Millis)
	}
	m.unmatched[id] = s
}

// Reconcile compares the identities added so far and releases their memory. None of
// them may be added again.
func (m *Matcher) Reconcile() {
	for id, s := range m.unmatched {
		if of := int(id.flow); of > 0 && of >= len(m.flows) {
			if m.flows == nil { // all so far are of flow 0
				m.flows = []comparing{m.all.clone()}
			}
			m.flows = append(m.flows, make([]comparing, of+1-len(m.flows))...)
		}
		m.all.add(s)
		if m.flows != nil {
			m.flows[id.flow].add(s)
		}
	}
	clear(m.unmatched)
}

// add compares one identity.
func (m *comparing) add(s sides) {
	acks, rows := int64(s.acks), int64(s.rows)
	m.c.Acknowledged += acks
	m.c.Persisted += rows
	m.c.Missing += max(0, acks-rows)
	if acks == 0 {
		m.c.Unacknowledged++
	}
	m.c.Duplicated += max(0, rows-max(1, acks))
	if acks > 0 {
		m.lag(s)
	}
}

// clone is an independent copy.
func (m *comparing) clone() comparing {
	out := *m
	out.c.Lags, out.seconds = maps.Clone(m.c.Lags), make(map[int64]*second, len(m.seconds))
	for at, s := range m.seconds {
		copied := *s
		copied.lags = metric.Hist{}
		copied.lags.Merge(&s.lags)
		out.seconds[at] = &copied
	}
	return out
}

// lag counts an acknowledged identity in its second, and its lag.
func (m *comparing) lag(s sides) {
	at := int64(math.Floor(float64(s.firstAck) / 1000))
	in := m.seconds[at]
	if in == nil {
		if m.seconds == nil {
			m.seconds = map[int64]*second{}
		}
		in = &second{}
		m.seconds[at] = in
	}
	if s.rows == 0 {
		in.missing++
		return
	}
	lag := max(0, s.lastRow-s.firstAck)
	in.lags.Record(float64(lag), 1)
	in.max = max(in.max, lag)
	if m.c.Lags == nil {
		m.c.Lags = map[int64]int64{}
	}
	m.c.Lags[lag]++
}

// Comparison reconciles the remaining identities and returns the result over all
// parts. The matcher cannot be used after it.
func (m *Matcher) Comparison() Comparison {
	m.Reconcile()
	m.unmatched = nil
	c := m.all.result()
	for i := range m.flows {
		c.Flows = append(c.Flows, m.flows[i].result())
	}
	return c
}

func (m *comparing) result() Comparison {
	for at, s := range m.seconds {
		if m.c.BySecond == nil {
			m.c.BySecond = make(map[int64]Second, len(m.seconds))
		}
		p50, _ := s.lags.Quantile(0.5)
		p99, _ := s.lags.Quantile(0.99)
		m.c.BySecond[at] = Second{int64(s.lags.Count()), s.missing, min(p50, float64(s.max)), min(p99, float64(s.max)), float64(s.max)}
	}
	return m.c
}

// Matched is the number of identities on both sides: those that have a lag.
func (c Comparison) Matched() (n int64) {
	for _, identities := range c.Lags {
		n += identities
	}
	return n
}

// Lag is the persist lag of rank ceil(q n) of the n matched identities, in
// milliseconds, q in [0, 1]; false where n is 0.
func (c Comparison) Lag(q float64) (float64, bool) {
	n := c.Matched()
	rank := min(max(int64(math.Ceil(q*float64(n))), 1), n)
	for _, millis := range slices.Sorted(maps.Keys(c.Lags)) {
		if rank -= c.Lags[millis]; rank <= 0 {
			return float64(millis), n > 0
		}
	}
	return 0, false
}
