// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"context"
	"slices"

	"assay.dev/assay/internal/observe/database"
)

// ReadError is a failure to read the persisted side from the database.
type ReadError struct{ Err error }

func (e *ReadError) Error() string { return "read persisted transactions: " + e.Err.Error() }
func (e *ReadError) Unwrap() error { return e.Err }

// Query is a profile's query for the persisted side of a run, and what came of it beside entries.
type Query struct {
	Run, SQL string
	Reading  Reading // of its identities

	Undated int64  // rows without a time, which are not persisted
	Example Hash   // identity of the first of these
	Unnamed int64  // rows without an identity
	Forms   Forms  // of the other rows
	Sample  Sample // of their identities
}

// Sample holds every 2^n-th identity, for the smallest n for which they are few.
type Sample struct {
	All  []database.Identity
	seen int
	mask int
}

const maxSample = 1024

func (s *Sample) add(id database.Identity) {
	if s.seen++; s.seen&s.mask != 0 {
		return
	}
	if s.All = append(s.All, id); len(s.All) < maxSample {
		return
	}
	s.mask = 2*s.mask + 1
	for i := range maxSample / 2 {
		s.All[i] = s.All[2*i+1]
	}
	s.All = s.All[:maxSample/2]
}

// Read visits the persisted side as the database returns its rows. The error is a *ReadError,
// or the first error of visit.
func (q *Query) Read(ctx context.Context, db database.Store, visit func(Entry) error) error {
	q.Undated, q.Unnamed, q.Forms, q.Sample = 0, 0, Forms{}, Sample{}
	var refused error // by visit
	err := db.Rows(ctx, q.SQL, q.Run, func(row database.Row) error {
		if row.ID.Kind == database.Null {
			q.Unnamed++
			return nil
		}
		hash := HashOf(q.Run, q.Reading.Of(row.ID))
		if row.At.IsZero() {
			if q.Undated++; q.Undated == 1 {
				q.Example = hash
			}
			return nil
		}
		q.Forms.Add(FormOf(row.ID))
		q.Sample.add(row.ID)
		refused = visit(Entry{Hash: hash, Millis: row.At.UnixMilli()})
		return refused
	})
	switch {
	case refused != nil:
		return refused
	case err != nil:
		return &ReadError{err}
	}
	return nil
}

// BestReading is the reading by which most of the sampled identities were acknowledged. each
// visits what was acknowledged.
func (q *Query) BestReading(each func(visit func(Hash)) error) (Reading, error) {
	readings := map[Hash][]int{}
	for _, id := range q.Sample.All {
		for i, r := range Readings {
			h := HashOf(q.Run, r.Of(id))
			readings[h] = append(readings[h], i)
		}
	}
	found := make([]int, len(Readings))
	err := each(func(h Hash) {
		for _, i := range readings[h] {
			found[i]++
		}
		delete(readings, h)
	})
	return Readings[slices.Index(found, slices.Max(found))], err
}
