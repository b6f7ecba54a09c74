package gauge

import (
	"context"
	"fmt"
	"net"
	"slices"
	"time"

	"assay.dev/assay/internal/hint"
	"assay.dev/assay/internal/observe/kafka"
	"assay.dev/assay/internal/observe/metric"
)

const (
	// consumerPeriod is the time between readings: two per second, so that a second still
	// has a value if one fails.
	consumerPeriod = 500 * time.Millisecond
	// consumerTimeout bounds the check of topic and group.
	consumerTimeout = 5 * time.Second
)

// consumerLag returns the lag of a consumer group; nil if the profile names none.
func (o Options) consumerLag() *polledGauge {
	c := o.Profile.Consumer
	if c == nil {
		return nil
	}
	return &polledGauge{
		reader: &consumer{brokers: c.Brokers, group: c.Group, topic: c.Topic, hosts: o.Hosts}, series: metric.Of(metric.ConsumerLag),
		name: fmt.Sprintf("lag of the consumer group %s on the topic %s", c.Group, c.Topic), located: true, period: consumerPeriod,
	}
}

// consumer reads the lag of a consumer group in messages.
type consumer struct {
	brokers      []string
	group, topic string
	hosts        []string     // that brokers of the profile may be on, in addition to loopback
	lag          *kafka.Group // nil before open
}

func (c *consumer) open(ctx context.Context) error {
	access, err := kafka.FromEnvironment()
	if err != nil {
		return err
	}
	if !access.NamesBroker() { // that of the environment is the user's own
		for _, b := range c.brokers {
			if host, _, err := net.SplitHostPort(b); err == nil && !c.allowed(host) {
				return hint.With(fmt.Errorf("broker %s is neither loopback nor the target's host", b),
					"list the host in \"targets\" of the thresholds file, or name the broker in ASSAY_KAFKA")
			}
		}
	}
	if c.lag, err = kafka.NewGroup(access, c.brokers, c.group, c.topic); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, consumerTimeout)
	defer cancel()
	return c.lag.Check(ctx)
}

// allowed reports whether the profile may name a host: it gets the user's credentials.
func (c *consumer) allowed(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback() || slices.Contains(c.hosts, host)
}

func (c *consumer) read(ctx context.Context) (float64, error) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	messages, err := c.lag.Lag(ctx)
	return float64(messages), err
}

func (c *consumer) close() {
	if c.lag != nil {
		c.lag.Close()
	}
}
