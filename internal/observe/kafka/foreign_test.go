package kafka_test

import (
	"strings"
	"testing"

	"assay.dev/assay/internal/observe/kafka"
)

// FuzzParseAccess: whatever ASSAY_KAFKA holds, an error of one line does not repeat it.
func FuzzParseAccess(f *testing.F) {
	for _, text := range []string{"", "kafka://u:s3cr3t-p4ss@b:9092?tls=true&sasl=plain", "kafka://u:s3cr3t-p4ss@b?tls=1", "kafka://u:%zz@b:1", "://", "kafka://b:1?sasl=x&sasl=y"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if _, err := kafka.ParseAccess(text); err != nil && strings.Contains(err.Error(), "\n") {
			t.Errorf("several lines: %v", err)
		}
		if _, err := kafka.ParseAccess("kafka://u:s3cr3t-p4ss@" + text); err != nil && strings.Contains(err.Error(), "s3cr3t-p4ss") {
			t.Errorf("the password is shown: %v", err)
		}
	})
}
