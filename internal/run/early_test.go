package run

import (
	"bytes"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"

	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/wire"
)

// Others may push their metrics while the run waits for its workers and has no record yet.
// They are told to send again.
func TestSentBeforeTheRunBegins(t *testing.T) {
	o := Options{ID: "run", Join: Join{Token: "token-of-a-test-0123456789"}, Log: slog.New(slog.DiscardHandler)}
	keys, err := o.keys()
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	newIntake(o.Profile, nil).receiver(&o, keys).Routes(mux)
	frames, err := metric.Encode(metric.Frame{Source: "otlp/shop", Second: 1, Points: []metric.Point{metric.CounterPoint(metric.Of(metric.Transactions), 1)}})
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		path string
		body []byte
	}{
		"frames": {wire.PathMetrics, frames}, "nothing": {wire.PathMetrics, nil}, "acknowledged": {wire.PathAcknowledged, nil},
	} {
		request := httptest.NewRequest(http.MethodPost, c.path, bytes.NewReader(c.body))
		request.Header.Set("Authorization", "Bearer "+o.Join.Token)
		request.Header.Set("Content-Type", "application/x-protobuf")
		request.Header.Set(wire.HeaderSource, "otlp/shop")
		request.Header.Set(wire.HeaderSequence, "1")
		answer := httptest.NewRecorder()
		mux.ServeHTTP(answer, request)
		if answer.Code != http.StatusServiceUnavailable || answer.Body.String() != "the run has not begun\n" {
			t.Errorf("%s: %d, %s", name, answer.Code, answer.Body)
		}
	}
}
