package kafka

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"

	"assay.dev/assay/internal/foreign"
	"assay.dev/assay/internal/hint"
)

// dialTimeout bounds the opening of one connection.
const dialTimeout = 5 * time.Second

const accessHint = "set ASSAY_KAFKA like kafka://user:password@kafka.example:9093?tls=true&sasl=scram-sha-512 (or scram-sha-256, plain)"

// Access is how to connect: a secret.
type Access struct {
	broker    string // host:port to connect to first; empty: those that the profile or an option names
	tls       bool
	mechanism sasl.Mechanism // nil: none
}

// FromEnvironment reads ASSAY_KAFKA.
func FromEnvironment() (Access, error) { return ParseAccess(os.Getenv("ASSAY_KAFKA")) }

// ParseAccess parses kafka://[user:password@][host:port][?tls=true][&sasl=MECHANISM];
// empty: no credentials, no TLS. Its errors contain no part of the text.
func ParseAccess(text string) (a Access, err error) {
	defer foreign.Guard(&err)
	if text == "" {
		return a, nil
	}
	bad := func(problem string) (Access, error) {
		return Access{}, hint.With(errors.New("ASSAY_KAFKA "+problem), accessHint)
	}
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "kafka" || u.Path != "" || u.Opaque != "" || u.Fragment != "" {
		return bad("is not a URL of the form kafka://user:password@host:port")
	}
	if u.Host != "" {
		if _, _, err := net.SplitHostPort(u.Host); err != nil {
			return bad("has a broker that is not host:port")
		}
		a.broker = u.Host
	}
	options, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return bad("has a malformed query")
	}
	name := "scram-sha-512"
	for key, values := range options {
		switch {
		case len(values) > 1:
			return bad("has an option twice")
		case key == "tls" && slices.Contains([]string{"true", "false"}, values[0]):
			a.tls = values[0] == "true"
		case key == "sasl":
			name = values[0]
		default:
			return bad("has an option other than tls=true, tls=false and sasl")
		}
	}
	if u.User == nil {
		if options.Has("sasl") {
			return bad("has a SASL mechanism, but no user")
		}
		return a, nil
	}
	user := u.User.Username()
	password, ok := u.User.Password()
	if user == "" || !ok {
		return bad("has no user or no password")
	}
	switch name {
	case "scram-sha-512":
		a.mechanism = scram.Auth{User: user, Pass: password}.AsSha512Mechanism()
	case "scram-sha-256":
		a.mechanism = scram.Auth{User: user, Pass: password}.AsSha256Mechanism()
	case "plain":
		if !a.tls {
			return bad("would send the password unencrypted: sasl=plain needs tls=true")
		}
		a.mechanism = plain.Auth{User: user, Pass: password}.AsMechanism()
	default:
		return bad("has an unknown SASL mechanism")
	}
	return a, nil
}

// NamesBroker reports whether it names the broker to connect to first, instead of the
// profile's.
func (a Access) NamesBroker() bool { return a.broker != "" }

// Brokers are the addresses to connect to first: that of the environment, else the named
// ones.
func (a Access) Brokers(named []string) []string {
	if a.broker != "" {
		return []string{a.broker}
	}
	return named
}

// Options are those of a client that connects to these brokers.
func (a Access) Options(brokers []string) ([]kgo.Opt, error) {
	seeds := a.Brokers(brokers)
	if len(seeds) == 0 {
		return nil, hint.With(errors.New("no Kafka broker is named"), "name one, like 127.0.0.1:9092")
	}
	for _, s := range seeds {
		if _, _, err := net.SplitHostPort(s); err != nil {
			return nil, hint.With(fmt.Errorf("broker %q is not host:port", s), "write for example 127.0.0.1:9092")
		}
	}
	options := []kgo.Opt{kgo.SeedBrokers(seeds...), kgo.ClientID("assay"), kgo.DialTimeout(dialTimeout)}
	if a.tls {
		options = append(options, kgo.DialTLSConfig(&tls.Config{MinVersion: tls.VersionTLS12}))
	}
	if a.mechanism != nil {
		options = append(options, kgo.SASL(a.mechanism))
	}
	return options, nil
}

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

func (g *Group) Close() { g.admin.Close() }

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
