package main

import (
	"bytes"
	"cmp"
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

	"assay.dev/assay/internal/load/k6"
	"assay.dev/assay/internal/load/mark"
	"assay.dev/assay/internal/observe/collect/receiver"
	"assay.dev/assay/internal/observe/ledger"
	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/observe/record"
	"assay.dev/assay/internal/spec"
	"assay.dev/assay/internal/wire"
)

const (
	closedVUs   = "20"
	closedFor   = 12 * time.Second
	closedFrom  = 3 * time.Second // the measured part begins when VUs and connections exist
	closedUntil = 11 * time.Second

	bareName = "bare"
	ours     = "assay"
)

// variant is one way to run closed-loop k6.
type variant struct {
	name   string
	label  string // if the name is not unique
	args   []string
	env    []string
	script string // empty: script.js
	plain  bool   // requests are not marked
}

func (v variant) title() string { return cmp.Or(v.label, v.name) }

// closedLoop compares the throughput of closed-loop k6 on one core with different
// outputs. It also prints k6's own counts next to those of the record.
func (b *bench) closedLoop(ctx context.Context) error {
	fmt.Printf("closed-loop k6, %s VUs, one core, ratios to bare k6 of the same round:\n", closedVUs)
	throughput, cpu := map[string][]float64{}, map[string][]float64{}
	var marked []float64 // CPU per request of marked requests over others
	for range b.rounds {
		var bare, own speed
		for _, v := range b.variants() {
			s, err := b.measure(ctx, v)
			if err != nil {
				return fmt.Errorf("%s: %w", v.name, err)
			}
			switch {
			case v.name == bareName:
				bare = s
			case v.title() == ours:
				own = s
			case v.plain:
				marked = append(marked, own.cpu/s.cpu)
			}
			throughput[v.title()] = append(throughput[v.title()], s.rate/bare.rate)
			cpu[v.title()] = append(cpu[v.title()], s.cpu/bare.cpu)
		}
	}
	for _, v := range b.variants()[1:] {
		fmt.Printf("  %-18s throughput %s\n", v.title(), spread(throughput[v.title()]))
		fmt.Printf("  %-18s CPU per request %s\n", "", spread(cpu[v.title()]))
	}
	fmt.Printf("  marked requests over those that are not, CPU per request %s\n", spread(marked))
	return b.countSamples(ctx)
}

// speed is the result of one run. CPU time per request varies less than throughput on a
// shared machine.
type speed struct {
	rate float64 // requests per second, in the measured part
	cpu  float64 // seconds of CPU per request, over the whole run
}

func (b *bench) variants() []variant {
	host := strings.TrimPrefix(b.target.url, "http://")
	return []variant{
		{name: bareName},
		{name: ours},
		{name: ours, label: "assay, not marked", plain: true},
		// With the GOGC of the other variants.
		{name: ours, env: []string{"GOGC=100"}, label: "assay, GOGC=100"},
		{
			name: "-o opentelemetry", args: []string{"--out", "opentelemetry"},
			env: []string{"K6_OTEL_EXPORTER_PROTOCOL=http/protobuf", "K6_OTEL_HTTP_EXPORTER_ENDPOINT=" + host, "K6_OTEL_HTTP_EXPORTER_INSECURE=true"},
		},
		{name: "-o influxdb", args: []string{"--out", "influxdb=" + b.target.url + "/k6"}},
	}
}

// measure runs one variant; the target counts its requests.
func (b *bench) measure(ctx context.Context, v variant) (speed, error) {
	before, err := b.target.served()
	if err != nil {
		return speed{}, err
	}
	r, err := b.start(ctx, v)
	if err != nil {
		return speed{}, err
	}
	time.Sleep(closedFrom)
	from, err := b.target.served()
	begin := time.Now()
	if err != nil {
		return speed{}, cmp.Or(err, r.wait())
	}
	time.Sleep(closedUntil - closedFrom)
	to, err := b.target.served()
	elapsed := time.Since(begin)
	if err := cmp.Or(err, r.wait()); err != nil {
		return speed{}, err
	}
	after, err := b.target.served()
	used := r.cmd.ProcessState.UserTime() + r.cmd.ProcessState.SystemTime()
	return speed{float64(to-from) / elapsed.Seconds(), used.Seconds() / float64(after-before)}, err
}

// countSamples compares k6's own counts with those of the record.
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

// benchKeys are those of the run that workers belong to.
var benchKeys = wire.NewKeys("bench", "bench")

// closedRun is a running k6, with the coordinator that it sends to.
type closedRun struct {
	cmd  *exec.Cmd
	out  *bytes.Buffer
	sink *sink // nil unless the variant is assay
}

// start starts k6 as in a variant.
func (b *bench) start(ctx context.Context, v variant) (r *closedRun, err error) {
	r = &closedRun{out: &bytes.Buffer{}}
	args := []string{
		"k6", "run", "--quiet", "--no-color", "--address", "", "--vus", closedVUs, "--duration", closedFor.String(),
		"-e", "ASSAY_TARGET=" + b.target.url,
	}
	env := append(os.Environ(), v.env...)
	if v.name == ours {
		if r.sink, err = b.startSink(v); err != nil {
			return nil, err
		}
		// The arguments of a fleet's workers.
		args = append(args, "--summary-mode", "disabled", "--no-thresholds", "--system-tags", strings.Join(k6.SystemTags(nil), ","),
			"--out", "assay="+b.path("session.json"))
		env = append(env, wire.EnvURL+"="+r.sink.URL, wire.EnvToken+"="+benchKeys.Credential(0, "bench"), wire.EnvSource+"=worker/0")
	}
	r.cmd = exec.CommandContext(ctx, b.path("generator"), append(append(args, v.args...), b.path(cmp.Or(v.script, "script.js")))...)
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

// sink is a coordinator that keeps frames in memory.
type sink struct {
	*httptest.Server
	timeline *record.Timeline
}

// benchRun is as long as the id of a real run.
const benchRun = "20261123T141434Z-payment-d60c"

func (b *bench) startSink(v variant) (*sink, error) {
	s := k6.Session{Run: benchRun, Flows: []k6.Flow{{Scenario: "default", DisplacedAfter: 10 * time.Millisecond}}}
	if m := spec.DefaultMarking; !v.plain {
		s.Marks = &mark.Options{Run: benchRun, Seed: 1, Header: m.Header, Sampled: m.Sampled, Baggage: m.Baggage}
	}
	data, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(b.path("session.json"), data, 0o600); err != nil {
		return nil, err
	}
	r, timeline := receiveInMemory()
	mux := http.NewServeMux()
	r.Routes(mux)
	return &sink{httptest.NewServer(mux), timeline}, nil
}

// receiveInMemory returns a receiver that adds the frames to a timeline, and discards
// acknowledged identities.
func receiveInMemory() (*receiver.Receiver, *record.Timeline) {
	timeline := record.NewTimeline()
	return receiver.New(receiver.Sinks{
		Frames: func(frames []metric.Frame, _ []byte) error {
			for _, f := range frames {
				timeline.Add(f)
			}
			return nil
		},
		Acknowledged: func(string, uint64, []ledger.Entry) error { return nil },
	}, benchKeys, slog.Default()), timeline
}
