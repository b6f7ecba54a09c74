package kafka

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"assay.dev/assay/internal/hint"
)

const groupHint = "start its consumer once, or check the name, and the user's right to describe it"

// Group reads the lag of a consumer group on one topic.
type Group struct {
	group, topic string
	admin        *kadm.Client
}

// NewGroup makes a client, which connects when it is first used. Close ends it.
func NewGroup(a Access, brokers []string, group, topic string) (*Group, error) {
	options, err := a.Options(brokers)
	if err != nil {
		return nil, err
	}
	// A reading that fails is a second without data; the next one tries again.
	client, err := kgo.NewClient(append(options, kgo.RequestRetries(1))...)
	if err != nil {
		return nil, fmt.Errorf("open Kafka: %w", err)
	}
	return &Group{group: group, topic: topic, admin: kadm.NewClient(client)}, nil
}

// Check reports whether topic and group exist. Without the check a misspelt group would
// seem to be as far behind as the topic is long.
func (g *Group) Check(ctx context.Context) error {
	if _, err := g.offsets(ctx, g.admin.ListEndOffsets); err != nil {
		return err
	}
	groups, err := g.admin.ListGroups(ctx)
	if err != nil {
		return explain("list consumer groups", err)
	}
	if _, ok := groups[g.group]; !ok {
		return hint.With(fmt.Errorf("no consumer group %s, or no right to describe it", g.group),
			groupHint)
	}
	return nil
}

// Lag is the number of messages of the topic that the group has not committed: the sum
// over the topic's partitions of end - max(committed, start), where an offset that was
// never committed counts as the start. Transaction markers and messages that compaction
// has removed have offsets too, and count. It fails unless every partition can be read.
//
// The committed offsets are read first: what is committed meanwhile counts as lag, so that
// the lag is never too small.
func (g *Group) Lag(ctx context.Context) (messages int64, err error) {
	committed, err := g.admin.FetchOffsetsForTopics(ctx, g.group, g.topic)
	if err == nil {
		err = committed.Error()
	}
	if err != nil {
		return 0, explain("read the offsets of consumer group "+g.group, err)
	}
	starts, err := g.offsets(ctx, g.admin.ListStartOffsets)
	if err != nil {
		return 0, err
	}
	ends, err := g.offsets(ctx, g.admin.ListEndOffsets)
	if err != nil {
		return 0, err
	}
	for partition, end := range ends {
		from, ok := starts[partition]
		if !ok {
			return 0, fmt.Errorf("partition %d of topic %s has no start", partition, g.topic)
		}
		if c, ok := committed.Lookup(g.topic, partition); ok {
			from = max(from, c.At)
		}
		if from > end {
			return 0, hint.With(fmt.Errorf("consumer group %s has committed offset %d of partition %d of topic %s, which ends at %d", g.group, from, partition, g.topic, end),
				"if the topic was made again, delete the group's offsets")
		}
		messages += end - from
	}
	return messages, nil
}

// offsets reads an offset of every partition of the topic.
func (g *Group) offsets(ctx context.Context, list func(context.Context, ...string) (kadm.ListedOffsets, error)) (map[int32]int64, error) {
	listed, err := list(ctx, g.topic)
	if err == nil {
		err = listed.Error()
	}
	if err != nil {
		return nil, explain("read the offsets of topic "+g.topic, err)
	}
	all := map[int32]int64{}
	for partition, o := range listed[g.topic] {
		all[partition] = o.Offset
	}
	if len(all) == 0 {
		return nil, explain("read the offsets of topic "+g.topic, kerr.UnknownTopicOrPartition)
	}
	return all, nil
}

// Close disconnects.
func (g *Group) Close() { g.admin.Close() }

// explain adds the next step to an error of Kafka.
func explain(what string, err error) error {
	var dial *net.OpError
	wrapped := fmt.Errorf("%s: %w", what, err)
	switch {
	case errors.Is(err, kerr.GroupIDNotFound):
		return hint.With(wrapped, groupHint)
	case errors.Is(err, kerr.UnknownTopicOrPartition):
		return hint.With(wrapped, "create the topic, or check its name")
	case errors.Is(err, kerr.TopicAuthorizationFailed), errors.Is(err, kerr.GroupAuthorizationFailed), errors.Is(err, kerr.ClusterAuthorizationFailed):
		return hint.With(wrapped, "allow the user of ASSAY_KAFKA to describe the topic and the group")
	case errors.Is(err, kerr.SaslAuthenticationFailed), strings.Contains(err.Error(), "SASL"), errors.Is(err, io.EOF):
		return hint.With(wrapped, "check user, password, sasl and tls in ASSAY_KAFKA")
	case errors.As(err, &dial), errors.Is(err, context.DeadlineExceeded):
		return hint.With(wrapped, "check that the broker is up, its address, and tls in ASSAY_KAFKA")
	}
	return wrapped
}
