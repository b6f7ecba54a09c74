package target

import (
	"context"
	"errors"
	"fmt"
	"syscall"

	"github.com/twmb/franz-go/pkg/kfake"

	"assay.dev/assay/internal/hint"
)

// brokerPartitions are the partitions of a topic that the service makes.
const brokerPartitions = 4

// RunBroker runs a Kafka broker on loopback until ctx is done, to try [IngestKafka] with:
// it holds all messages in memory and has no replicas, so it loses them when it ends. It
// calls ready once, with its address, when it accepts connections. Port 0 is a free one.
func RunBroker(ctx context.Context, port int, ready func(addr string)) error {
	c, err := kfake.NewCluster(kfake.Ports(port), kfake.DefaultNumPartitions(brokerPartitions))
	if errors.Is(err, syscall.EADDRINUSE) {
		err = hint.With(err, "stop the process that listens there, or choose another port")
	}
	if err != nil {
		return fmt.Errorf("start the Kafka broker: %w", err)
	}
	defer c.Close()
	ready(c.ListenAddrs()[0])
	<-ctx.Done()
	return nil
}
