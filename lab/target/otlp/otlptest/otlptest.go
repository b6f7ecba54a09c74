package otlptest

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"assay.dev/assay/internal/observe/collect/receiver"
	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/wire"
)

// Token is a secret that pushes have to carry.
const Token = "hunter2"

// Receiver is the receiver of a run.
type Receiver struct {
	URL  string
	Down atomic.Bool // it responds with 503
	// Answers, unless nil, is called with each push that has been received, before the answer.
	Answers func(*http.Request)

	mu     sync.Mutex
	frames []metric.Frame
}

// Start starts a receiver for the duration of the test, and sets its token in the
// environment of exporters.
func Start(t *testing.T) *Receiver {
	t.Helper()
	r := &Receiver{}
	keys := wire.NewKeys("run", Token)
	decoder := receiver.New(receiver.Sinks{Frames: func(frames []metric.Frame, _ []byte) error {
		r.mu.Lock()
		defer r.mu.Unlock()
		for _, f := range frames {
			if f.Points[0].Series.Name != metric.ForeignDelay { // the receiver's own
				r.frames = append(r.frames, f.Clone())
			}
		}
		return nil
	}}, keys, slog.New(slog.DiscardHandler))
	mux := http.NewServeMux()
	decoder.Routes(mux)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if r.Down.Load() {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		mux.ServeHTTP(w, req)
		if r.Answers != nil {
			r.Answers(req)
		}
	}))
	t.Cleanup(server.Close)
	r.URL = server.URL
	t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "Authorization=Bearer%20"+Token)
	return r
}

// Frames are those received so far: one for each push.
func (r *Receiver) Frames() []metric.Frame {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.frames)
}

// Total merges all frames by series: the sums of counters, the counts of histograms, and
// the last values of gauges.
func (r *Receiver) Total() map[string]float64 {
	all := map[string]float64{}
	for _, f := range r.Frames() {
		for _, p := range f.Points {
			key := p.Series.Key()
			switch p.Kind {
			case metric.Counter:
				all[key] += p.Value
			case metric.Histogram:
				all[key] += float64(p.Hist.Count())
			default:
				all[key] = p.Value
			}
		}
	}
	return all
}
