package ledger

import (
	"crypto/sha256"
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
	type sides struct {
		acks, rows        int64
		firstAck, lastRow int64
	}
	all := make(map[Hash]sides, max(len(acknowledged), len(persisted)))
	for _, e := range acknowledged {
		s, seen := all[e.Hash]
		if !seen || e.Millis < s.firstAck {
			s.firstAck = e.Millis
		}
		s.acks++
		all[e.Hash] = s
	}
	for _, e := range persisted {
		s := all[e.Hash]
		s.rows++
		s.lastRow = max(s.lastRow, e.Millis)
		all[e.Hash] = s
	}
	c := Comparison{Acknowledged: int64(len(acknowledged)), Persisted: int64(len(persisted))}
	for _, s := range all {
		c.Missing += max(0, s.acks-s.rows)
		if s.acks == 0 {
			c.Unacknowledged++
		}
		c.Duplicated += max(0, s.rows-max(1, s.acks))
		if s.acks > 0 && s.rows > 0 {
			c.Lags = append(c.Lags, float64(max(0, s.lastRow-s.firstAck)))
		}
	}
	slices.Sort(c.Lags)
	return c
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
