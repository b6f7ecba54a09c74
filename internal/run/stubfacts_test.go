//go:build live

package run

import (
	"strings"
	"testing"

	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/observe/record"
)

// A stub is a limitation; that it was not called, or by calls that it does not know, is another.
func TestAboutStub(t *testing.T) {
	endpoint := func(outcome string, n, open int64) []record.StubEndpoint {
		return []record.StubEndpoint{{Name: "charge", Calls: map[string]int64{outcome: n}, Open: open}}
	}
	for name, c := range map[string]struct {
		endpoints []record.StubEndpoint
		want      string // start of the second limitation; empty: there is none
	}{
		"called":         {endpoint(metric.StubAnswered, 5, 0), ""},
		"still open":     {endpoint(metric.StubAnswered, 0, 1), ""},
		"not called":     {endpoint(metric.StubAnswered, 0, 0), "the stub bank got no call: let the service call http://127.0.0.1:1 "},
		"none":           {nil, "the stub bank got no call"},
		"unknown routes": {append(endpoint(metric.StubUnknown, 3, 0), endpoint(metric.StubAnswered, 5, 0)...), "3 of 8 calls to the stub bank match none"},
	} {
		got := aboutStub(record.Stub{Name: "bank", URL: "http://127.0.0.1:1", File: record.Digest{Path: "bank.json"}, Endpoints: c.endpoints})
		if len(got) == 0 || !strings.HasPrefix(got[0], "bank is a stub (bank.json): ") || (len(got) == 2) != (c.want != "") || c.want != "" && !strings.HasPrefix(got[1], c.want) {
			t.Errorf("%s: %q", name, got)
		}
	}
}
