package verdict

import (
	"testing"

	"assay.dev/assay/internal/observe/metric"
)

// The class that counts is the most frequent one that clients noticed, timeouts of transactions excepted.
func TestWhyFailed(t *testing.T) {
	for want, all := range map[string][]Error{
		"":                 {{Where: metric.AtService, Class: "HTTP 500", Count: 9}, {Where: metric.AtClient, Class: metric.ErrorTransaction, Count: 5}, {Where: metric.AtClient, Class: metric.ErrorNotStarted, Count: 7}},
		metric.ErrorScript: {{Where: metric.AtClient, Class: "HTTP 404", Count: 2}, {Where: metric.AtClient, Class: metric.ErrorScript, Count: 3}, {Where: metric.AtDatabase, Class: metric.ErrorDeadlock, Count: 4}},
	} {
		if got := whyFailed(all); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
