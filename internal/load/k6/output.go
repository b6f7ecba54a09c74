package k6

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/sirupsen/logrus"
	"go.k6.io/k6/v2/metrics"
	"go.k6.io/k6/v2/output"

	"assay.dev/assay/internal/crash"
	"assay.dev/assay/internal/load/reach"
	"assay.dev/assay/internal/load/sql"
	"assay.dev/assay/internal/observe/ledger"
	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/spec"
	"assay.dev/assay/internal/wire"
)

// OutputName is the output's name: `--out assay=SESSION`.
const OutputName = "assay"

// Session is the worker's part of a run's plan for this output: a JSON file that the
// fleet writes and `--out assay=` names.
type Session struct {
	Run   string       `json:"run"`
	Seed  uint64       `json:"seed"`           // seed of arrivals and data
	Flows []Flow       `json:"flows"`          // at least one
	VUs   int          `json:"vus"`            // number of VUs of all flows
	Rate  float64      `json:"rate"`           // this worker's share of the target, transactions per second
	Marks spec.Marking `json:"marks,omitzero"` // marks of the worker's requests
	// Outputs: k6 has further outputs, behind this one.
	Outputs bool `json:"outputs,omitempty"`
}

// Flow is what the output knows of one of k6's scenarios.
type Flow struct {
	Scenario       string        `json:"scenario"`
	SLOs           []spec.SLO    `json:"slos"`
	DisplacedAfter time.Duration `json:"displaced_after_ns"`
	Timeout        time.Duration `json:"timeout_ns"`
	Ledger         bool          `json:"ledger"` // what it acknowledges is recorded
	Expected       spec.Expected `json:"expected_statuses,omitzero"`
}

const (
	// frameDelay is how long after the end of a second its frame is made: samples may
	// still be in k6's pipeline (50 ms batches).
	frameDelay = 120 * time.Millisecond
	// deliveryTimeout ends a run whose coordinator has not answered for this long.
	deliveryTimeout = 15 * time.Second
	// closeTimeout bounds sending the last frames at the end.
	closeTimeout = 20 * time.Second
)

// frameOutput is the k6 output that aggregates in process and sends frames.
type frameOutput struct {
	worker *worker
	log    logrus.FieldLogger
	agg    *aggregate
	self   *selfMeter
	gc     *gcTuner
	masker *masker // nil: this is the only output

	stopRun func(error)
	stop    chan struct{}
	sending crash.Group

	frames  uint64 // sent so far; the next frame has the sequence frames+1
	batches uint64 // batches of acknowledged identities, sent so far
}

var _ output.WithTestRunStop = &frameOutput{}

func (w *worker) newOutput(p output.Params) (output.Output, error) {
	if w.wire == nil {
		return nil, errors.New("the assay output needs a coordinator: use `assay certify`")
	}
	data, err := os.ReadFile(p.ConfigArgument)
	if err != nil {
		return nil, fmt.Errorf("read worker session: %w", err)
	}
	var s Session
	if err := json.Unmarshal(data, &s); err != nil {
		return nil, fmt.Errorf("read worker session %s: %w", p.ConfigArgument, err)
	}
	if s.Marks.Header != "" {
		w.marks.Set(s.Run, s.Seed, s.Marks)
	}
	w.agg = newAggregate(s)
	w.agg.offset = w.wire.Offset
	w.agg.redirects = p.ScriptOptions.MaxRedirects.Valid
	o := &frameOutput{
		worker: w, log: p.Logger, agg: w.agg, self: newSelfMeter(w.wire.Source), gc: newGCTuner(s.Rate),
		stop: make(chan struct{}),
	}
	if s.Outputs {
		o.masker = newMasker()
	}
	return o, nil
}

// Description is k6's line about the output.
func (o *frameOutput) Description() string { return "assay frames" }

// SetTestRunStopCallback sets the function that ends the run.
func (o *frameOutput) SetTestRunStopCallback(stop func(error)) { o.stopRun = stop }

// Start starts sending frames.
func (o *frameOutput) Start() error {
	o.sending.Go(o.send)
	ctx, cancel := context.WithCancel(context.Background())
	o.sending.Go(func() { reach.Of.Watch(ctx) })
	o.sending.Go(func() {
		<-o.stop
		cancel()
	})
	return nil
}

// AddMetricSamples adds samples: k6 never calls it concurrently.
func (o *frameOutput) AddMetricSamples(samples []metrics.SampleContainer) {
	o.agg.add(samples)
	if o.masker != nil {
		o.masker.mask(samples)
	}
}

// Stop sends the last frames and closes the stream, and the VUs' database connections:
// when the process exits they would count as aborted.
func (o *frameOutput) Stop() error {
	sql.CloseAll()
	close(o.stop)
	o.sending.Wait()
	return nil
}

func (o *frameOutput) send() {
	for {
		o.gc.adjust()
		now := time.Now()
		next := now.Truncate(time.Second).Add(time.Second + frameDelay)
		select {
		case <-time.After(next.Sub(now)):
			err := o.flush(o.agg.take(o.second()), time.Now().Add(deliveryTimeout))
			if err != nil {
				o.log.WithError(err).Error("cannot deliver frames")
				o.stopRun(fmt.Errorf("deliver frames: %w", err))
				<-o.stop
				return
			}
		case <-o.stop:
			if err := o.close(); err != nil {
				o.log.WithError(err).Error("cannot deliver the last frames")
			}
			return
		}
	}
}

// second is the current second by the aggregate's clock.
func (o *frameOutput) second() int64 {
	o.agg.mu.Lock()
	defer o.agg.mu.Unlock()
	return o.agg.second(time.Now())
}

func (o *frameOutput) close() error {
	const everything = int64(1) << 62
	deadline := time.Now().Add(closeTimeout)
	reach.Of.Look(context.Background()) // what the names are at the end
	o.agg.releaseAll()
	if err := o.flush(o.agg.take(everything), deadline); err != nil {
		return err
	}
	last := metric.Frame{
		Source: o.worker.wire.Source, Sequence: o.frames + 1, Second: time.Now().Unix(),
		Closing: true, Points: o.agg.closing(o.frames),
	}
	body, err := metric.Encode(last)
	if err != nil {
		return err
	}
	return retry(deadline, func(ctx context.Context) error { return o.deliver(ctx, body) })
}

// deliver sends frames once. The response holds the state of the worker's clock.
func (o *frameOutput) deliver(ctx context.Context, body []byte) (err error) {
	o.self.clock, err = o.worker.wire.Frames(ctx, body)
	return err
}

// flush sends frames and acknowledged identities, and retries until the deadline.
// Samples that arrive meanwhile stay in the aggregate.
func (o *frameOutput) flush(t drained, deadline time.Time) error {
	defer o.agg.recycle(t)
	if t.refused != nil {
		return t.refused
	}
	frames := make([]metric.Frame, 0, len(t.seconds)+1)
	add := func(second int64, points []metric.Point) {
		o.frames++
		frames = append(frames, metric.Frame{Source: o.worker.wire.Source, Sequence: o.frames, Second: second, Points: points})
	}
	for i, second := range t.seconds {
		add(second, t.buckets[i].points(t.series, t.kinds))
	}
	if points := append(o.self.points(), reach.Of.Take()...); len(points) > 0 {
		add(o.second()-1, points)
	}
	body, err := metric.Encode(frames...)
	if err != nil {
		return err
	}
	if err := retry(deadline, func(ctx context.Context) error { return o.deliver(ctx, body) }); err != nil {
		return err
	}
	if len(t.entries) == 0 {
		return nil
	}
	o.batches++
	text := ledger.AppendText(nil, t.entries)
	return retry(deadline, func(ctx context.Context) error { return o.worker.wire.Acknowledged(ctx, o.batches, text) })
}

// retry repeats send until it succeeds, is refused, or the deadline has passed.
func retry(deadline time.Time, send func(context.Context) error) error {
	ctx, cancel := context.WithDeadline(context.Background(), deadline)
	defer cancel()
	return wire.Retry(ctx, 5*time.Second, send)
}
