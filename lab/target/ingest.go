package target

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// insertWriters is how many groups of events are stored concurrently: fewer writers make
// larger groups, and four keep the database's group commit busy.
const insertWriters = 4

const (
	insertEvents = "INSERT INTO events (id, run_id, name, value, persisted_at) VALUES "
	eventRow     = "(?, ?, ?, ?, CURRENT_TIMESTAMP(6))"
)

// ingestion stores events in one of the ingest modes.
type ingestion struct {
	db     *database
	mode   Ingest
	queue  *group[queuedEvent] // nil when mode is IngestDirect or IngestKafka
	stream *stream             // nil unless mode is IngestKafka
	log    *limitedLog
	lost   atomic.Int64 // answered but not stored

	mu      sync.Mutex
	storing map[*queuedEvent]bool // first events of the groups that are being stored
}

// queuedEvent waits for its INSERT; done is nil if no caller waits.
type queuedEvent struct {
	event
	accepted time.Time
	done     chan error
}

// accept stores or queues an event; stored reports whether it is in the database.
func (in *ingestion) accept(ctx context.Context, e event) (stored bool, err error) {
	switch in.mode {
	case IngestKafka:
		return false, in.stream.send(ctx, e)
	case IngestChannel:
		return false, in.offer(queuedEvent{event: e, accepted: time.Now()})
	case IngestBulk:
		q := queuedEvent{event: e, accepted: time.Now(), done: make(chan error, 1)}
		if err := in.offer(q); err != nil {
			return false, err
		}
		select {
		case err := <-q.done:
			return err == nil, err
		case <-ctx.Done(): // it may still be stored, but is not acknowledged
			return false, ctx.Err()
		}
	default:
		pool := in.db.scope()
		defer pool.close()
		_, err := pool.exec(ctx, insertEvents+eventRow, e.ID, e.RunID, e.Name, e.Value)
		return err == nil, err
	}
}

func (in *ingestion) offer(q queuedEvent) error {
	err := in.queue.offer(q)
	if err == nil {
		in.db.m.queued.Inc()
	}
	return err
}

// store inserts a group by one statement, all or nothing. Waiting callers get the error;
// acknowledged events are retried until ctx ends. If an INSERT's outcome is unknown,
// because its connection was lost, they may be stored twice: delivery is at least once.
func (in *ingestion) store(ctx context.Context, group []queuedEvent) {
	defer in.db.m.queued.Sub(float64(len(group)))
	in.setStoring(&group[0], true)
	defer in.setStoring(&group[0], false)
	err := in.insert(ctx, group)
	if err != nil && in.mode == IngestChannel {
		if !in.log.retry(ctx, err, len(group), func() error { return in.insert(ctx, group) }) {
			in.lost.Add(int64(len(group)))
			return
		}
		err = nil
	}
	for _, q := range group {
		if q.done != nil {
			q.done <- err
		}
	}
}

func (in *ingestion) setStoring(first *queuedEvent, storing bool) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if storing {
		in.storing[first] = true
	} else {
		delete(in.storing, first)
	}
}

// age is how long ago the oldest event was accepted that is not stored yet; 0: all are.
func (in *ingestion) age() time.Duration {
	switch {
	case in.stream != nil:
		return in.stream.age()
	case in.queue == nil:
		return 0
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	now, oldest := time.Now(), time.Duration(0)
	if first := in.queue.oldest(); first != nil {
		oldest = now.Sub(first.accepted)
	}
	for first := range in.storing {
		oldest = max(oldest, now.Sub(first.accepted))
	}
	return oldest
}

func (in *ingestion) insert(ctx context.Context, group []queuedEvent) error {
	pool := in.db.scope()
	defer pool.close()
	args := make([]any, 0, 4*len(group))
	for _, q := range group {
		args = append(args, q.ID, q.RunID, q.Name, q.Value)
	}
	rows := strings.Repeat(","+eventRow, len(group))[1:]
	_, err := pool.exec(ctx, insertEvents+rows, args...)
	return err
}
