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
)

// variant is one way to run closed-loop k6.
type variant struct {
	title  string
	ours   bool // k6 reports to a coordinator, as workers do
	marked bool // its requests are marked
}

// variants begin with the one that the others are compared with.
var variants = []variant{{"bare", false, false}, {"assay", true, true}, {"assay, not marked", true, false}}

// closedLoop compares the throughput of closed-loop k6 on one core without an output, and
// with that of workers, whose requests are marked or not.
func (b *bench) closedLoop(ctx context.Context) error {
	fmt.Printf("closed-loop k6, %s VUs, one core, ratios to bare k6 of the same round:\n", closedVUs)
	throughput, cpu := make([][]float64, len(variants)), make([][]float64, len(variants))
	var marked []float64 // CPU per request of marked requests over others
	for range b.rounds {
		var all [3]speed
		for i, v := range variants {
			s, err := b.measure(ctx, v)
			if err != nil {
				return fmt.Errorf("%s: %w", v.title, err)
			}
			all[i] = s
			throughput[i] = append(throughput[i], s.rate/all[0].rate)
			cpu[i] = append(cpu[i], s.cpu/all[0].cpu)
		}
		marked = append(marked, all[1].cpu/all[2].cpu)
	}
	for i, v := range variants[1:] {
		fmt.Printf("  %-18s throughput %s\n", v.title, spread(throughput[i+1]))
		fmt.Printf("  %-18s CPU per request %s\n", "", spread(cpu[i+1]))
	}
	fmt.Printf("  marked requests over those that are not, CPU per request %s\n", spread(marked))
	return nil
}

// speed is the result of one run. CPU time per request varies less than throughput on a
// shared machine.
type speed struct {
	rate float64 // requests per second, in the measured part
	cpu  float64 // seconds of CPU per request, over the whole run
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

// benchKeys are those of the run that workers belong to.
var benchKeys = wire.NewKeys("bench", "bench")

// closedRun is a running k6, with the coordinator that it sends to.
type closedRun struct {
	cmd  *exec.Cmd
	out  *bytes.Buffer
	sink *httptest.Server // nil: it sends to none
}

// start starts k6 as in a variant.
func (b *bench) start(ctx context.Context, v variant) (r *closedRun, err error) {
	r = &closedRun{out: &bytes.Buffer{}}
	args := []string{
		"k6", "run", "--quiet", "--no-color", "--address", "", "--vus", closedVUs, "--duration", closedFor.String(),
		"-e", "ASSAY_TARGET=" + b.target.url,
	}
	env := os.Environ()
	if v.ours {
		if r.sink, err = b.startSink(v.marked); err != nil {
			return nil, err
		}
		// The arguments of a fleet's workers.
		args = append(args, "--summary-mode", "disabled", "--no-thresholds", "--system-tags", strings.Join(k6.SystemTags(nil), ","),
			"--out", "assay="+b.path("session.json"))
		env = append(env, wire.EnvURL+"="+r.sink.URL, wire.EnvToken+"="+benchKeys.Credential(0, "bench"), wire.EnvSource+"=worker/0")
	}
	r.cmd = exec.CommandContext(ctx, b.path("generator"), append(args, b.path("script.js"))...)
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

// benchRun is as long as the id of a real run.
const benchRun = "20261123T141434Z-payment-d60c"

// startSink starts a coordinator that keeps frames in memory, and discards acknowledged
// identities.
func (b *bench) startSink(marked bool) (*httptest.Server, error) {
	s := k6.Session{Run: benchRun, Flows: []k6.Flow{{Scenario: "default", DisplacedAfter: 10 * time.Millisecond}}}
	if marked {
		s.Seed, s.Marks = 1, spec.DefaultMarking
	}
	data, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(b.path("session.json"), data, 0o600); err != nil {
		return nil, err
	}
	timeline, mux := record.NewTimeline(), http.NewServeMux()
	receiver.New(receiver.Sinks{
		Frames: func(frames []metric.Frame, _ []byte) error {
			for _, f := range frames {
				timeline.Add(f)
			}
			return nil
		},
		Acknowledged: func(string, uint64, []ledger.Entry) error { return nil },
	}, benchKeys, slog.Default()).Routes(mux)
	return httptest.NewServer(mux), nil
}
