// SPDX-License-Identifier: Apache-2.0

package spec

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// Consumer names a consumer group of Kafka, whose lag is read. Credentials come from the
// environment.
type Consumer struct {
	Brokers []string `json:"brokers,omitempty"` // host:port, to connect to first; empty: that of the environment
	Group   string   `json:"group"`
	Topic   string   `json:"topic"`
}

func (r *reader) consumer(n *node) *Consumer {
	if !r.object(n, []string{"group", "topic"}, []string{"brokers"}) {
		return nil
	}
	var c Consumer
	c.Group, _ = r.text(n.get("group"))
	c.Topic, _ = r.text(n.get("topic"))
	brokers := n.get("brokers")
	for _, b := range r.list(brokers) {
		text, ok := r.text(b)
		switch {
		case !ok:
		case !isHostPort(text):
			r.fail(b, fmt.Sprintf("%s is not host:port", quote(text)), "write for example "+example["brokers"])
		case slices.Contains(c.Brokers, text):
			r.fail(b, "duplicate broker "+quote(text), "")
		default:
			c.Brokers = append(c.Brokers, text)
		}
	}
	if brokers != nil && brokers.kind == jsontext.KindBeginArray && len(brokers.children) == 0 {
		r.fail(brokers, "want at least one broker", "write for example "+example["brokers"])
	}
	return &c
}

var hostPort = regexp.MustCompile(`^(?:[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\]):([0-9]{1,5})$`)

func isHostPort(text string) bool {
	m := hostPort.FindStringSubmatch(text)
	if m == nil {
		return false
	}
	port, err := strconv.ParseUint(m[1], 10, 16)
	return err == nil && port > 0
}
