//go:build live

package k6

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"assay.dev/assay/internal/observe/collect/receiver"
	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/observe/record"
	"assay.dev/assay/internal/testing/budget"
	"assay.dev/assay/internal/testing/metrictest"
	"assay.dev/assay/internal/wire"
)

// TestMain runs k6 when the test binary is re-executed with the argument k6.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "k6" {
		Main(os.Args[2:])
	}
	os.Exit(m.Run())
}

const exportedScript = `
import http from 'k6/http';
import { check } from 'k6';
import { Trend, Rate, Counter, Gauge } from 'k6/metrics';
const size = new Trend('size'), cached = new Rate('cached'), items = new Counter('items'), depth = new Gauge('depth');
export const options = { scenarios: { shop: { executor: 'shared-iterations', vus: 4, iterations: 120, maxDuration: '1m' } } };
export default function () {
  const answer = http.get(__ENV.TARGET + '/pay', { tags: { name: 'pay' } });
  http.get(__ENV.TARGET + '/refund', { tags: { name: 'refund' } });
  check(answer, { ok: (a) => a.status === 200 });
  size.add(__ITER * 7 % 300);
  cached.add(__ITER % 3 === 0);
  items.add(2);
  depth.add(__ITER);
}`

// k6Sample is one line of k6's JSON output.
type k6Sample struct {
	Type   string
	Metric string
	Data   struct {
		Value float64
		Tags  map[string]string
	}
}

// runExported runs stock k6 with the OpenTelemetry output to a receiver that requires a
// token, and the JSON output. It returns what the receiver recorded and every sample.
func runExported(t *testing.T, env ...string) (frames []metric.Frame, samples []k6Sample) {
	t.Helper()
	requests := atomic.Int64{}
	target := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n := requests.Add(1)
		time.Sleep(time.Duration(n%40) * 2 * time.Millisecond) // 0 to 78 ms
		if n%9 == 0 {
			w.WriteHeader(http.StatusInternalServerError)
		}
	}))
	t.Cleanup(target.Close)

	keys := wire.NewKeys("a run", "ru=n's, token")
	recorder := receiver.New(receiver.Sinks{Frames: func(received []metric.Frame, _ []byte) error {
		data, err := metric.Encode(received...) // as in a record
		if err != nil {
			return err
		}
		decoded, err := metric.Decode(data)
		frames = append(frames, decoded...)
		return err
	}}, keys, slog.New(slog.DiscardHandler))
	mux := http.NewServeMux()
	recorder.Routes(mux)
	coordinator := httptest.NewServer(mux)
	t.Cleanup(coordinator.Close)

	dir := t.TempDir()
	script, lines := filepath.Join(dir, "script.js"), filepath.Join(dir, "samples.json")
	if err := os.WriteFile(script, []byte(exportedScript), 0o644); err != nil {
		t.Fatal(err)
	}
	executable, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), executable, "k6", "run", "--quiet", "--no-color", "-o", "opentelemetry", "-o", "json="+lines, script)
	cmd.Env = append(os.Environ(), append(
		env,
		"TARGET="+target.URL, "K6_NO_USAGE_REPORT=true", "K6_OTEL_EXPORTER_PROTOCOL=http/protobuf",
		"K6_OTEL_HTTP_EXPORTER_INSECURE=true", "K6_OTEL_HTTP_EXPORTER_ENDPOINT="+strings.TrimPrefix(coordinator.URL, "http://"),
		"K6_OTEL_HEADERS=Authorization=Bearer%20ru%3Dn's%2C%20token", "K6_OTEL_EXPORT_INTERVAL=1s", "K6_OTEL_FLUSH_INTERVAL=200ms",
	)...)
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v: %s", err, output.String())
	}
	if bytes.Contains(output.Bytes(), []byte("level=error")) {
		t.Errorf("k6 reports %s", output.String())
	}
	recorder.Close()
	in, err := os.Open(lines)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	for scanner := bufio.NewScanner(in); scanner.Scan(); {
		var s k6Sample
		if err := json.Unmarshal(scanner.Bytes(), &s); err != nil {
			t.Fatal(err)
		}
		if s.Type == "Point" {
			samples = append(samples, s)
		}
	}
	return frames, samples
}

// Stock k6 with -o opentelemetry: every sample arrives, in the metric of the same name
// and with its tags, and trends within what their buckets tell.
func TestStockK6(t *testing.T) {
	t.Parallel()
	for name, env := range map[string][]string{
		"one counter for a rate":  {"K6_OTEL_SERVICE_NAME=shop"},
		"two counters for a rate": {"K6_OTEL_SINGLE_COUNTER_FOR_RATE=false"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			budget.CPUs(t, 0.2)
			frames, samples := runExported(t, env...)
			source := "otlp/k6"
			if name == "one counter for a rate" {
				source = "otlp/shop"
			}
			line := record.NewTimeline()
			for _, f := range frames {
				line.Add(f)
				if f.Source != source {
					t.Fatalf("source %q", f.Source)
				}
			}
			trends, counts, gauges := map[string][]float64{}, map[string]float64{}, map[string]bool{}
			for _, s := range samples {
				var labels []string
				for _, key := range slices.Sorted(maps.Keys(s.Data.Tags)) {
					labels = append(labels, key, s.Data.Tags[key])
				}
				series := func(suffix string) string { return metric.NewSeries(s.Metric+suffix, "", labels...).Key() }
				switch d, _ := metric.Find(s.Metric); {
				case s.Metric == "size" || d.Kind == metric.Histogram:
					trends[series("")] = append(trends[series("")], s.Data.Value)
				case s.Metric == "cached" || d.Kind == metric.Rate:
					counts[series(metric.RateTotal)]++
					counts[series(metric.RateOccurred)] += s.Data.Value
				case s.Metric == "items" || d.Kind == metric.Counter:
					counts[series("")] += s.Data.Value
				case s.Metric == "depth" || d.Kind == metric.Gauge:
					gauges[series("")] = true
				default:
					t.Errorf("%s has no kind", s.Metric)
				}
			}
			gotTrends, gotCounts, gotGauges := map[string]*metric.Hist{}, map[string]float64{}, map[string]bool{}
			for _, f := range frames {
				for _, p := range f.Points {
					key := p.Series.Key()
					switch {
					case p.Series.Name == metric.ForeignDelay:
					case p.Kind == metric.Histogram:
						if gotTrends[key] == nil {
							gotTrends[key] = &metric.Hist{}
						}
						gotTrends[key].Merge(p.Hist)
					case p.Kind == metric.Counter:
						gotCounts[key] += p.Value
					case p.Kind == metric.Gauge:
						gotGauges[key] = true
					}
				}
			}
			for key, values := range trends {
				if gotTrends[key] == nil {
					t.Errorf("no %s", key)
					continue
				}
				metrictest.CheckHist(t, gotTrends[key], values)
			}
			for _, counted := range []map[string]float64{counts, gotCounts} { // a rate that never occurred may have no counter
				maps.DeleteFunc(counted, func(_ string, n float64) bool { return n == 0 })
			}
			if !maps.Equal(counts, gotCounts) {
				t.Errorf("counters\n%v, want\n%v", gotCounts, counts)
			}
			if len(gotTrends) != len(trends) || !maps.Equal(gauges, gotGauges) {
				t.Errorf("trends %v, gauges %v; want %d trends, gauges %v", slices.Collect(maps.Keys(gotTrends)), gotGauges, len(trends), gauges)
			}
			// As SLOs read them.
			pay := metric.NewSeries("", "", "name", "pay").Labels
			requests, failed := uint64(0), 0.0
			for _, p := range line.Foreign(metric.RequestDuration, pay, record.All) {
				requests += p.Count()
				if p.Series.Unit != "ms" {
					t.Errorf("unit %q", p.Series.Unit)
				}
			}
			for _, p := range line.Foreign(metric.RequestFailed+metric.RateOccurred, nil, record.All) {
				failed += p.Value
			}
			if requests != 120 || failed != 240/9 {
				t.Errorf("%d requests, %g failed, want 120 and %d", requests, failed, 240/9)
			}
			fmt.Fprintln(t.Output(), len(frames), "frames,", len(samples), "samples")
		})
	}
}
