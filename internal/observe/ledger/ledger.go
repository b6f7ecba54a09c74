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
// SHA-256 over the run id, a zero byte and the canonical identity, so that evidence holds no
// business keys.
type Hash [16]byte

// HashOf hashes one identity.
func HashOf(run, id string) (h Hash) {
	sum := sha256.Sum256([]byte(run + "\x00" + Canonical(id)))
	copy(h[:], sum[:])
	return h
}

// Entry is one identity with the time at which it was acknowledged or
// persisted, in unix milliseconds.
type Entry struct {
	Hash   Hash
	Millis int64
	Flow   int // number of the flow in the profile's order, from 0
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
	Repeated       int64 `json:"repeated"`       // acknowledgements of an identity beyond its first
	// Unclear are those of Missing whose identity has a row, but fewer than acknowledgements: two
	// transactions have one identity, or one was acknowledged twice.
	Unclear int64 `json:"unclear"`
	// Dates are of the identities that have both.
	Dates Dates `json:"-"`
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

// Dates are how the rows of acknowledged identities are dated.
type Dates struct {
	FirstAck          int64 // unix ms
	FirstRow, LastRow int64 // unix ms
	Lead              int64 // ms by which a row is dated before its acknowledgement, at most; negative: none is
	Early             int64 // identities with a lead of over maxLead
	// Shift was subtracted from the times of all rows, ms.
	Shift int64
}

// maxLead is by how many ms a row may be dated before its acknowledgement without a word: it is
// stored before it is acknowledged, in a column that may have whole seconds.
const maxLead = 2000

func (d Dates) with(o Dates) Dates {
	switch {
	case o == Dates{}:
		return d
	case d == Dates{}:
		return o
	}
	return Dates{min(d.FirstAck, o.FirstAck), min(d.FirstRow, o.FirstRow), max(d.LastRow, o.LastRow), max(d.Lead, o.Lead), d.Early + o.Early, o.Shift}
}

// Matcher compares two sides entry by entry, in any order. Its memory grows with the
// number of distinct identities. A ledger that is too large for that is compared in
// parts of disjoint identities, with a call of Reconcile after each.
type Matcher struct {
	unmatched map[identity]sides
	flows     [MaxFlows]comparing // by number
	last      int                 // highest number of a flow
	// Shift is by how much the times of the rows are off, by flow, in ms.
	Shift map[int]int64
}

// identity of one flow's ledger.
type identity struct {
	hash Hash
	flow int32
}

// comparing is a Comparison under way, with the identities by the second in which they were
// acknowledged.
type comparing struct {
	c       Comparison
	seconds map[int64]*second
}

type second struct {
	lags    metric.Hist // ms
	max     int64
	missing int64
}

// sides counts the entries of one identity.
type sides struct {
	acks, rows        int32
	firstAck, lastAck int64 // unix ms
	firstRow, lastRow int64
}

// NewMatcher makes an empty matcher.
func NewMatcher() *Matcher { return &Matcher{unmatched: map[identity]sides{}} }

// Add adds an entry of one side.
func (m *Matcher) Add(side Side, e Entry) {
	id := identity{e.Hash, int32(e.Flow)}
	s := m.unmatched[id]
	if side == Acknowledged {
		if s.acks == 0 {
			s.firstAck, s.lastAck = e.Millis, e.Millis
		}
		s.acks++
		s.firstAck, s.lastAck = min(s.firstAck, e.Millis), max(s.lastAck, e.Millis)
	} else {
		at := e.Millis - m.Shift[e.Flow]
		if s.rows == 0 {
			s.firstRow, s.lastRow = at, at
		}
		s.rows++
		s.firstRow, s.lastRow = min(s.firstRow, at), max(s.lastRow, at)
	}
	m.unmatched[id] = s
}

// Reconcile compares the identities added so far and releases their memory. None of
// them may be added again.
func (m *Matcher) Reconcile() {
	for id, s := range m.unmatched {
		m.last = max(m.last, int(id.flow))
		m.flows[id.flow].add(s, m.Shift[int(id.flow)])
	}
	clear(m.unmatched)
}

func (m *comparing) add(s sides, shift int64) {
	m.c.Acknowledged += int64(s.acks)
	m.c.Persisted += int64(s.rows)
	m.c.Missing += int64(max(0, s.acks-s.rows))
	m.c.Duplicated += int64(max(0, s.rows-max(1, s.acks)))
	if s.acks == 0 {
		m.c.Unacknowledged++
		return
	}
	m.c.Repeated += int64(s.acks - 1)
	m.c.Unclear += int64(max(0, s.acks-max(1, s.rows)))
	if m.seconds == nil {
		m.seconds = map[int64]*second{}
	}
	at := int64(math.Floor(float64(s.firstAck) / 1000))
	in := m.seconds[at]
	if in == nil {
		in = &second{}
		m.seconds[at] = in
	}
	if s.rows == 0 {
		in.missing++
		return
	}
	of := Dates{FirstAck: s.firstAck, FirstRow: s.firstRow, LastRow: s.lastRow, Lead: s.firstAck - s.lastRow, Shift: shift}
	lag := max(0, s.lastRow-s.firstAck)
	if s.acks > 1 { // of several transactions, one of which may have been long before
		lag = max(0, s.firstRow-s.firstAck, s.lastRow-s.lastAck)
	}
	if of.Lead > maxLead {
		of.Early = 1
	}
	m.c.Dates = m.c.Dates.with(of)
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
	if m.last == 0 {
		return m.flows[0].result()
	}
	all, flows := comparing{seconds: map[int64]*second{}}, []Comparison{}
	for i := range m.flows[:m.last+1] {
		all.merge(&m.flows[i])
		flows = append(flows, m.flows[i].result())
	}
	c := all.result()
	c.Flows = flows
	return c
}

func (m *comparing) merge(o *comparing) {
	m.c.Acknowledged += o.c.Acknowledged
	m.c.Persisted += o.c.Persisted
	m.c.Missing += o.c.Missing
	m.c.Duplicated += o.c.Duplicated
	m.c.Unacknowledged += o.c.Unacknowledged
	m.c.Repeated += o.c.Repeated
	m.c.Unclear += o.c.Unclear
	m.c.Dates = m.c.Dates.with(o.c.Dates)
	for lag, n := range o.c.Lags {
		if m.c.Lags == nil {
			m.c.Lags = map[int64]int64{}
		}
		m.c.Lags[lag] += n
	}
	for at, s := range o.seconds {
		in := m.seconds[at]
		if in == nil {
			in = &second{}
			m.seconds[at] = in
		}
		in.lags.Merge(&s.lags)
		in.max = max(in.max, s.max)
		in.missing += s.missing
	}
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
