package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"time"

	"assay/harness/load/k6"
	"assay/harness/load/link"
	"assay/harness/observe/collect/receiver"
	"assay/harness/observe/ledger"
	"assay/harness/observe/metric"
	"assay/harness/observe/record"
)

const (
	closedVUs   = "20"
	closedFor   = 12 * time.Second
	closedFrom  = 3 * time.Second // the measured part begins when VUs and connections are there
	closedUntil = 11 * time.Second
	benchToken  = "bench"

	ours = "assay"
)

// variant is one way to run closed-loop k6.
type variant struct {
	name string
	args []string
	env  []string
}

// closedLoop compares the throughput of k6 on one core, closed-loop, with
// different outputs. It also checks that our record holds every sample that k6
// counted.
func (b *bench) closedLoop(ctx context.Context) error {
	fmt.Printf("closed-loop throughput, %s VUs, one core, ratio to bare k6 of the same round:\n", closedVUs)
	ratios := map[string][]float64{}
	var names []string
	for range b.rounds {
		bare := 0.0
		for _, v := range b.variants() {
			rate, err := b.throughput(ctx, v)
			if err != nil {
				return fmt.Errorf("%s: %w", v.name, err)
			}
			if bare == 0 {
				bare = rate
				continue
			}
			if ratios[v.name] == nil {
				names = append(names, v.name)
			}
			ratios[v.name] = append(ratios[v.name], rate/bare)
		}
	}
	for _, name := range names {
		fmt.Printf("  %-18s %s\n", name, spread(ratios[name]))
	}
	return b.countSamples(ctx)
}

func (b *bench) variants() []variant {
	host := strings.TrimPrefix(b.target.url, "http://")
	return []variant{
		{name: "bare"},
		{name: ours},
		{
			name: "-o opentelemetry", args: []string{"--out", "opentelemetry"},
			env: []string{"K6_OTEL_EXPORTER_PROTOCOL=http/protobuf", "K6_OTEL_HTTP_EXPORTER_ENDPOINT=" + host, "K6_OTEL_HTTP_EXPORTER_INSECURE=true"},
		},
		{name: "-o influxdb", args: []string{"--out", "influxdb=" + b.target.url + "/k6"}},
	}
}

// throughput runs one variant and counts, at the target, what it did in the
// measured part.
func (b *bench) throughput(ctx context.Context, v variant) (float64, error) {
	r, err := b.start(ctx, v)
	if err != nil {
		return 0, err
	}
	time.Sleep(closedFrom)
	from, err := b.target.served()
	begin := time.Now()
	if err != nil {
		return 0, err
	}
	time.Sleep(closedUntil - closedFrom)
	to, err := b.target.served()
	elapsed := time.Since(begin)
	return float64(to-from) / elapsed.Seconds(), firstError(err, r.wait())
}

// countSamples compares what k6 itself counted with what the record holds.
func (b *bench) countSamples(ctx context.Context) error {
	v := b.variants()[1]
	v.args = append(v.args, "--summary-mode", "legacy", "--summary-export", b.path("summary.json"))
	r, err := b.start(ctx, v)
	if err != nil {
		return err
	}
	if err := r.wait(); err != nil {
		return err
	}
	data, err := os.ReadFile(b.path("summary.json"))
	if err != nil {
		return err
	}
	var summary struct {
		Metrics map[string]struct {
			Count float64 `json:"count"`
		} `json:"metrics"`
	}
	if err := json.Unmarshal(data, &summary); err != nil {
		return err
	}
	all := record.Span{From: time.Now().Unix() - 60, To: time.Now().Unix() + 1}
	for _, name := range []string{"http_reqs", "iterations"} {
		got, _ := r.sink.timeline.Sum(name, nil, all)
		fmt.Printf("  %s: k6 counted %.0f, the record holds %.0f\n", name, summary.Metrics[name].Count, got)
	}
	return nil
}

// closedRun is k6 under way, with the coordinator that it sends to.
type closedRun struct {
	cmd  *exec.Cmd
	out  *bytes.Buffer
	sink *sink // nil where the variant is not ours
}

// start starts k6 as a variant.
func (b *bench) start(ctx context.Context, v variant) (r *closedRun, err error) {
	r = &closedRun{out: &bytes.Buffer{}}
	args := []string{
		"k6", "run", "--quiet", "--no-color", "--address", "", "--vus", closedVUs, "--duration", closedFor.String(),
		"-e", "ASSAY_TARGET=" + b.target.url,
	}
	env := append(os.Environ(), v.env...)
	if v.name == ours {
		if r.sink, err = b.startSink(); err != nil {
			return nil, err
		}
		args = append(args, "--summary-mode", "disabled", "--no-thresholds", "--out", "assay="+b.path("session.json"))
		env = append(env, link.EnvURL+"="+r.sink.URL, link.EnvToken+"="+benchToken, link.EnvSource+"=worker/0")
	}
	r.cmd = exec.CommandContext(ctx, b.path("generator"), append(append(args, v.args...), b.path("script.js"))...)
	r.cmd.Env, r.cmd.Stdout, r.cmd.Stderr = env, r.out, r.out
	if err := r.cmd.Start(); err != nil {
		r.close()
		return nil, err
	}
	return r, nil
}

func (r *closedRun) wait() error {
	defer r.close()
	if err := r.cmd.Wait(); err != nil {
		return fmt.Errorf("%w: %s", err, bytes.TrimSpace(r.out.Bytes()))
	}
	return nil
}

func (r *closedRun) close() {
	if r.sink != nil {
		r.sink.Close()
	}
}

// sink is a coordinator that records, as a run does.
type sink struct {
	*httptest.Server
	timeline *record.Timeline
}

func (b *bench) startSink() (*sink, error) {
	data, err := json.Marshal(k6.Session{Run: "bench", Scenario: "default", LagLimit: 10 * time.Millisecond})
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(b.path("session.json"), data, 0o600); err != nil {
		return nil, err
	}
	s := &sink{timeline: record.NewTimeline()}
	r := receiver.New(receiver.Sinks{
		Frame:        func(f metric.Frame) error { s.timeline.Add(f); return nil },
		Acknowledged: func(string, []ledger.Entry) error { return nil },
	}, slog.Default())
	mux := http.NewServeMux()
	r.Routes(mux)
	s.Server = httptest.NewServer(receiver.Authorize(benchToken, mux))
	return s, nil
}
