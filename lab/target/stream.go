package target

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"assay.dev/assay/internal/hint"
	"assay.dev/assay/internal/observe/kafka"
)

const (
	// streamTimeout bounds the creation of the topic, joining the consumer group, each
	// commit of offsets, and leaving the group.
	streamTimeout = 10 * time.Second
	// pollWait is how long the consumer waits for events before it takes the topic to be
	// read to its end.
	pollWait = 200 * time.Millisecond
)

// errBroker: the broker did not acknowledge an event.
var errBroker = errors.New("broker failed")

// Kafka is the configuration of [IngestKafka].
type Kafka struct {
	Brokers string // host:port,...
	Topic   string // made if it does not exist
	Group   string // group of the consumer that stores the events
	URL     string // credentials, as in ASSAY_KAFKA; a secret, never logged
}

// message is an event in Kafka. Its id tells a message that is delivered again, which is
// stored once, from an event that was sent twice, which the ledger must find.
type message struct {
	Message uuid.UUID `json:"message"`
	event
}

// stream sends events to a topic, and stores what its consumer group reads from it.
type stream struct {
	db       *database
	log      *limitedLog
	topic    string
	batch    int // events in one INSERT
	producer *kgo.Client
	consumer *kgo.Client

	oldest   atomic.Int64 // when the oldest event was sent of those read last, in Unix ns; 0: all are stored
	stopping atomic.Bool
	done     sync.WaitGroup
}

// startStream makes the topic, if it does not exist, and starts the consumer, which works
// until stop, or until work is done. It returns once the consumer has joined its group, so
// that the group exists when the service is ready; or after streamTimeout, because a group
// waits longer for a member that was killed.
func startStream(ctx, work context.Context, c Config, db *database, log *limitedLog) (*stream, error) {
	access, err := kafka.ParseAccess(c.Kafka.URL)
	if err != nil {
		return nil, err
	}
	options, err := access.Options(strings.FieldsFunc(c.Kafka.Brokers, func(r rune) bool { return r == ',' || r == ' ' }))
	if err != nil {
		return nil, err
	}
	s := &stream{db: db, log: log, topic: c.Kafka.Topic, batch: c.IngestBatch}
	s.producer, err = kgo.NewClient(append(slices.Clone(options),
		kgo.RequiredAcks(kgo.AllISRAcks()), kgo.ProducerLinger(c.IngestWait), kgo.MaxBufferedRecords(c.IngestQueue),
		kgo.RecordDeliveryTimeout(max(c.RequestTimeout, time.Second)))...) // a second is the client's minimum
	if err != nil {
		return nil, fmt.Errorf("open Kafka: %w", err)
	}
	if err := s.ensureTopic(ctx); err != nil {
		s.producer.Close()
		return nil, hint.With(err, "check that Kafka is up, --kafka-brokers, --kafka-topic and ASSAY_KAFKA")
	}
	joined, join := context.WithTimeout(ctx, streamTimeout)
	defer join()
	s.consumer, err = kgo.NewClient(append(slices.Clone(options),
		kgo.OnPartitionsAssigned(func(context.Context, *kgo.Client, map[string][]int32) { join() }),
		kgo.ConsumerGroup(c.Kafka.Group), kgo.ConsumeTopics(s.topic), kgo.ConsumeStartOffset(kgo.NewOffset().AtStart()),
		kgo.DisableAutoCommit(), kgo.BlockRebalanceOnPoll())...)
	if err != nil {
		s.producer.Close()
		return nil, fmt.Errorf("open Kafka: %w", err)
	}
	db.m.watchStream()
	s.done.Go(func() { s.consume(work) })
	<-joined.Done()
	return s, nil
}

// ensureTopic makes the topic with the broker's default partitions and replicas.
func (s *stream) ensureTopic(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, streamTimeout)
	defer cancel()
	admin := kadm.NewClient(s.producer)
	topics, err := admin.ListTopics(ctx, s.topic)
	if err != nil {
		return fmt.Errorf("connect to Kafka: %w", err)
	}
	if topics.Has(s.topic) {
		return nil
	}
	if _, err := admin.CreateTopic(ctx, -1, -1, nil, s.topic); err != nil && !errors.Is(err, kerr.TopicAlreadyExists) {
		return fmt.Errorf("create the topic %s: %w", s.topic, err)
	}
	return nil
}

// send returns once all in-sync replicas have the event. An event whose outcome is not
// known in time may still be stored, but is not acknowledged.
func (s *stream) send(ctx context.Context, e event) error {
	id, err := uuid.NewV7() // ascending, so that the index of the ids grows at its end
	if err != nil {
		return err
	}
	value, err := json.Marshal(message{id, e})
	if err != nil {
		return err
	}
	done := make(chan error, 1)
	s.producer.TryProduce(ctx, &kgo.Record{Topic: s.topic, Value: value}, func(_ *kgo.Record, err error) { done <- err })
	select {
	case err = <-done:
	case <-ctx.Done():
		err = ctx.Err()
	}
	switch {
	case err == nil, errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return err
	case errors.Is(err, kgo.ErrMaxBuffered):
		return errFull
	}
	s.db.m.errors.WithLabelValues("Kafka produce").Inc()
	return fmt.Errorf("%w: %w", errBroker, err)
}

// consume stores events, and commits their offsets afterwards: delivery is at least once.
func (s *stream) consume(ctx context.Context) {
	for ctx.Err() == nil {
		records := s.poll(ctx)
		if len(records) == 0 {
			s.oldest.Store(0)
			s.consumer.AllowRebalance()
			if s.stopping.Load() {
				return
			}
			continue
		}
		oldest := slices.MinFunc(records, func(a, b *kgo.Record) int { return a.Timestamp.Compare(b.Timestamp) })
		s.oldest.Store(oldest.Timestamp.UnixNano())
		s.db.m.queued.Add(float64(len(records)))
		stored := s.store(ctx, records)
		s.db.m.queued.Sub(float64(len(records)))
		if stored {
			s.commit(ctx, records)
		}
		s.consumer.AllowRebalance()
	}
}

func (s *stream) poll(ctx context.Context) []*kgo.Record {
	limited, cancel := context.WithTimeout(ctx, pollWait)
	defer cancel()
	fetched := s.consumer.PollRecords(limited, insertWriters*s.batch)
	fetched.EachError(func(_ string, partition int32, err error) {
		if limited.Err() == nil {
			s.failed("fetch", err, "partition", partition)
		}
	})
	return fetched.Records()
}

func (s *stream) commit(ctx context.Context, records []*kgo.Record) {
	limited, cancel := context.WithTimeout(ctx, streamTimeout)
	defer cancel()
	if err := s.consumer.CommitRecords(limited, records...); err != nil && ctx.Err() == nil {
		s.failed("commit", err) // they are delivered again, and stored once
	}
}

func (s *stream) failed(what string, err error, about ...any) {
	s.db.m.errors.WithLabelValues("Kafka " + what).Inc()
	s.log.error(what+" from Kafka", err, about...)
}

// store inserts the events by several writers, and tries again until they are stored; false:
// ctx ended before.
func (s *stream) store(ctx context.Context, records []*kgo.Record) bool {
	var events []message
	for _, r := range records {
		var m message
		err := json.Unmarshal(r.Value, &m)
		if err == nil {
			m.event, err = m.checked()
		}
		if err != nil { // by another producer
			s.failed("message", fmt.Errorf("offset %d of partition %d is no event: %w", r.Offset, r.Partition, err))
			continue
		}
		events = append(events, m)
	}
	var writers sync.WaitGroup
	var abandoned atomic.Bool
	for group := range slices.Chunk(events, s.batch) {
		writers.Go(func() {
			err := s.insert(ctx, group)
			if err != nil && !s.log.retry(ctx, err, len(group), func() error { return s.insert(ctx, group) }) {
				abandoned.Store(true)
			}
		})
	}
	writers.Wait()
	return !abandoned.Load()
}

// insert stores events by one statement, all or nothing. A message that is stored already
// stays as it is.
func (s *stream) insert(ctx context.Context, group []message) error {
	pool := s.db.scope()
	defer pool.close()
	args := make([]any, 0, 5*len(group))
	for _, m := range group {
		args = append(args, m.ID, m.RunID, m.Name, m.Value, m.Message[:])
	}
	rows := strings.Repeat(",(?, ?, ?, ?, CURRENT_TIMESTAMP(6), ?)", len(group))[1:]
	stored, err := pool.exec(ctx, "INSERT INTO events (id, run_id, name, value, persisted_at, message) VALUES "+rows+" ON DUPLICATE KEY UPDATE seq = seq", args...)
	if err == nil {
		s.db.m.redelivered.Add(float64(max(0, int64(len(group))-stored)))
	}
	return err
}

// age is how long ago the oldest event was sent of those that are read and not stored.
func (s *stream) age() time.Duration {
	oldest := s.oldest.Load()
	if oldest == 0 {
		return 0
	}
	return max(0, time.Since(time.Unix(0, oldest)))
}

// stop stores what the topic still holds, unless work is done before, and leaves the group.
// What is not stored stays in Kafka. It must be called after the last send.
func (s *stream) stop() {
	s.stopping.Store(true)
	s.done.Wait()
	s.consumer.AllowRebalance()
	limited, cancel := context.WithTimeout(context.Background(), streamTimeout)
	defer cancel()
	if err := s.consumer.LeaveGroupContext(limited); err != nil {
		s.log.error("leave the consumer group", err)
	}
	s.consumer.CloseAllowingRebalance()
	s.producer.Close()
}
