package kafka_test

import (
	"strings"
	"testing"

	"assay.dev/assay/internal/hint"
	"assay.dev/assay/internal/observe/kafka"
)

// What ASSAY_KAFKA may hold. It is a secret: no error quotes it.
func TestAccess(t *testing.T) {
	for text, broker := range map[string]string{
		"":                                      "named:9092",
		"kafka://":                              "named:9092",
		"kafka://?tls=true":                     "named:9092",
		"kafka://127.0.0.1:9092":                "127.0.0.1:9092",
		"kafka://[::1]:9092":                    "[::1]:9092",
		"kafka://u:hunter2@":                    "named:9092",
		"kafka://u:hunter2@k:1?tls=false":       "k:1",
		"kafka://u:h%40@k:1?sasl=scram-sha-256": "k:1",
		"kafka://u:p@k:1?sasl=plain&tls=true":   "k:1",
	} {
		a, err := kafka.ParseAccess(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got := a.Brokers([]string{"named:9092"}); len(got) != 1 || got[0] != broker {
			t.Errorf("%s: brokers %v, want %s", text, got, broker)
		}
		if _, err := a.Options([]string{"named:9092"}); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
	for _, text := range []string{
		"u:hunter2@127.0.0.1:9092", "http://u:hunter2@k:1", "kafka://u:hunter2@k", "kafka://u:hunter2@k:1/events", "kafka://u@k:1",
		"kafka://:hunter2@k:1", "kafka://u:hunter2@k:1?sasl=plain", "kafka://u:hunter2@k:1?sasl=gssapi", "kafka://u:hunter2@k:1?tls=maybe",
		"kafka://u:hunter2@k:1?tls=true&tls=false", "kafka://u:hunter2@k:1?password=hunter2", "kafka://k:1?sasl=scram-sha-256", "kafka://u:hunter2%@k:1",
	} {
		if _, err := kafka.ParseAccess(text); err == nil || strings.Contains(err.Error(), "hunter2") || hint.Of(err) == "" {
			t.Errorf("%s: %v", text, err)
		}
	}
	if _, err := (kafka.Access{}).Options(nil); err == nil {
		t.Error("options without a broker")
	}
}
