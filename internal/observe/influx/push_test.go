package influx

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"assay.dev/assay/internal/hint"
	"assay.dev/assay/internal/observe/record"
)

// A server that takes each write slowly is given up.
func TestPushEnds(t *testing.T) {
	defer func(of time.Duration) { pushFor = of }(pushFor)
	pushFor = time.Millisecond
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // or the end of the connection is not noticed
		<-r.Context().Done()
	}))
	defer server.Close()
	s, err := NewServer(server.URL, "")
	if err != nil {
		t.Fatal(err)
	}
	err = Push(t.Context(), s, RunInfo{}, record.NewTimeline(), []Point{{Measurement: "run_event", Fields: []Field{{Name: "title", Text: "x"}}}}, func(int, int) {})
	if err == nil || !strings.Contains(err.Error(), "has not taken the run's 0 seconds within 1ms") || hint.Of(err) == "" {
		t.Errorf("%v", err)
	}
}
