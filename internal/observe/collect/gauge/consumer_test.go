package gauge_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kfake"

	"assay.dev/assay/internal/observe/collect/gauge"
	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/spec"
)

// The user may name the profile's broker in the environment, on any host.
func TestConsumerOfTheUsersBroker(t *testing.T) {
	c := spec.Consumer{Brokers: []string{"broker.invalid:9092"}, Group: "g", Topic: "events"}
	for env, refused := range map[string]bool{"": true, "kafka://user:password@": true, "kafka://broker.invalid:9092": false} {
		t.Setenv("ASSAY_KAFKA", env)
		err := gauge.Options{Profile: spec.Profile{Consumer: &c}}.Examine(t.Context(), metric.ConsumerLag)
		if err == nil || strings.Contains(err.Error(), "neither loopback nor the target's host") != refused {
			t.Errorf("%q: %v", env, err)
		}
	}
}

// What cannot be read is named before the run.
func TestConsumerCannotBeRead(t *testing.T) {
	t.Parallel()
	c, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(1, "events"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for want, of := range map[string]spec.Consumer{
		"no consumer group g":                    {Brokers: c.ListenAddrs(), Group: "g", Topic: "events"},
		"UNKNOWN_TOPIC":                          {Brokers: c.ListenAddrs(), Group: "g", Topic: "other"},
		"connection refused":                     {Brokers: []string{"127.0.0.1:1"}, Group: "g", Topic: "events"},
		"neither loopback nor the target's host": {Brokers: []string{"192.0.2.1:9092"}, Group: "g", Topic: "events"},
		"no Kafka broker is named":               {Group: "g", Topic: "events"},
	} {
		o := gauge.Options{Profile: spec.Profile{Consumer: &of}}
		if names := o.Metrics(); len(names) != 1 || names[0] != metric.ConsumerLag {
			t.Errorf("metrics %v", names)
		}
		if err := o.Examine(t.Context(), metric.ConsumerLag); err == nil || !strings.Contains(fmt.Sprint(err), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
