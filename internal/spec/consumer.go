// SPDX-License-Identifier: Apache-2.0

package spec

// Consumer names a consumer group of Kafka, whose lag is read. Credentials come from the
// environment.
type Consumer struct {
	Brokers []string `json:"brokers,omitempty"` // host:port, to connect to first; empty: that of the environment
	Group   string   `json:"group"`
	Topic   string   `json:"topic"`
}
