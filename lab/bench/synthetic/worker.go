package synthetic

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"sync"
	"time"

	"assay.dev/assay/internal/observe/ledger"
	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/wire"
	"assay.dev/assay/lab/bench/longrun"
)

const (
	// frameDelay is how long after the end of a second real workers send its frames, all
	// at one instant if their clocks agree.
	frameDelay     = 120 * time.Millisecond
	heartbeatEvery = time.Second
	// joinTimeout bounds the time without an answer, as real workers do by default.
	joinTimeout = 2 * time.Minute
)

// worker is one worker that has joined.
type worker struct {
	fleet    *Fleet
	link     *wire.Link
	number   int
	t0       int64 // unix s, of the first message
	frames   *longrun.Worker
	prepared []message
	batch    uint64 // number of the last batch of acknowledged transactions that was sent
}

// message is what a worker reports on a second.
type message struct {
	second       int64
	transactions int64 // transactions that were scheduled
	frames       int
	body         []byte // the frames, encoded
}

// work is one worker's part in the run.
func (f *Fleet) work(ctx context.Context) error {
	link := wire.New(f.Address.URL, f.Token, f.Address.TLS(f.Token))
	defer link.Close()
	a, err := f.join(ctx, link)
	if err != nil {
		return fmt.Errorf("join: %w", err)
	}
	w := &worker{fleet: f, link: link.As(*a), number: a.Number, frames: f.Shape.NewWorker(a.Number)}
	defer w.link.Close()
	if err := w.run(ctx, a.Archive); err != nil {
		return fmt.Errorf("%s: %w", a.Source, err)
	}
	return nil
}

// run is the part of a worker that has its share.
func (w *worker) run(ctx context.Context, archive string) error {
	var alive sync.WaitGroup
	living, end := context.WithCancel(ctx)
	defer alive.Wait()
	defer end()
	alive.Go(func() { w.heartbeats(living) })
	err := w.send(ctx, func(ctx context.Context) error { _, err := w.link.Archive(ctx); return err })
	if err != nil {
		return err
	}
	if err := w.send(ctx, func(ctx context.Context) error { return w.link.Ready(ctx, wire.Ready{Archive: archive}) }); err != nil {
		return err
	}
	if err := w.prepare(); err != nil {
		return err
	}
	var start *wire.StartResponse
	for start == nil {
		err := w.send(ctx, func(ctx context.Context) (err error) {
			start, err = w.link.Start(ctx, json.RawMessage("null"))
			return err
		})
		if err != nil {
			return err
		}
	}
	for i := range w.prepared {
		w.prepared[i].move(start.T0.Unix() - w.t0)
	}
	w.t0 = start.T0.Unix()
	w.fleet.begin(start.T0)
	if err := w.report(ctx, start.T0); err != nil {
		return err
	}
	return w.send(ctx, func(ctx context.Context) error { return w.link.Exit(ctx, wire.Exit{Status: "0"}) })
}

// prepare makes messages beforehand.
func (w *worker) prepare() error {
	w.fleet.preparing.Lock() // one worker at a time, or the heartbeats would wait for a CPU
	defer w.fleet.preparing.Unlock()
	w.t0 = time.Now().Unix()
	for i := range w.fleet.Prepared {
		m, more, err := w.message(i)
		if err != nil || !more {
			return err
		}
		w.prepared = append(w.prepared, m)
	}
	return nil
}

// join waits for the worker's share.
func (f *Fleet) join(ctx context.Context, link *wire.Link) (*wire.Assignment, error) {
	hello := wire.Hello{
		Identity: rand.Text(), Tool: f.Tool,
		Machine: wire.Machine{Name: "synthetic", OS: "linux", CPUs: 16, Memory: 1 << 36, Available: 1 << 36, Descriptors: 1 << 20},
	}
	answered := time.Now()
	for pause := 50 * time.Millisecond; ; pause = min(2*pause, time.Second) {
		a, _, err := link.Join(ctx, hello)
		var refused *wire.RefusedError
		switch {
		case a != nil:
			return a, nil
		case err == nil:
			answered, pause = time.Now(), 0
		case errors.As(err, &refused), ctx.Err() != nil, time.Since(answered) > joinTimeout:
			return nil, err
		}
		if err := Sleep(ctx, pause); err != nil {
			return nil, err
		}
	}
}

// report sends the frames and the acknowledged transactions of every second.
func (w *worker) report(ctx context.Context, t0 time.Time) error {
	last := w.t0
	for i := 0; ; i++ {
		m, more, err := w.message(i)
		if err != nil || !more {
			return errors.Join(err, w.close(ctx, last))
		}
		due := t0.Add(time.Duration(i+1)*time.Second + frameDelay)
		if w.fleet.Eager {
			due = time.Now()
		} else if err := Sleep(ctx, time.Until(due)); err != nil {
			return err
		}
		if err := w.deliver(ctx, due, m); err != nil {
			return err
		}
		if err := w.acknowledge(ctx, m); err != nil {
			return err
		}
		last = m.second
	}
}

// close sends the closing frame.
func (w *worker) close(ctx context.Context, second int64) error {
	frames := w.frames.Close(second)
	body, err := metric.Encode(frames...)
	if err != nil {
		return err
	}
	return w.deliver(ctx, time.Now(), message{frames: len(frames), body: body})
}

// move makes the message one of a later second. To encode it again would cost what was saved
// by preparing it.
func (m *message) move(seconds int64) {
	key := []byte("assay.second\x12\x06\x18") // and the length of a value: an integer of five bytes
	before := binary.AppendUvarint(bytes.Clone(key), uint64(m.second))
	m.second += seconds
	m.body = bytes.ReplaceAll(m.body, before, binary.AppendUvarint(key, uint64(m.second)))
}

// message is the one of second i; false: it sends no more.
func (w *worker) message(i int) (m message, more bool, err error) {
	n, more := w.scheduled(i)
	if !more || i < len(w.prepared) {
		if more {
			m = w.prepared[i]
		}
		return m, more, nil
	}
	m.second, m.transactions = w.t0+int64(min(i, len(w.fleet.arrivals)-1)), n
	frames := w.frames.Second(m.second, n)
	m.frames = len(frames)
	m.body, err = metric.Encode(frames...)
	return m, true, err
}

// scheduled is how many transactions the worker has in second i; false: it sends no
// more. An eager worker repeats the last second of the schedule.
func (w *worker) scheduled(i int) (n int64, more bool) {
	select {
	case <-w.fleet.ending:
		return 0, false
	default:
	}
	if i >= len(w.fleet.arrivals) {
		if !w.fleet.Eager {
			return 0, false
		}
		i = len(w.fleet.arrivals) - 1
	}
	return longrun.Share(w.fleet.arrivals[i], w.number, w.fleet.Shape.Workers), true
}

// deliver sends frames that were due at an instant.
func (w *worker) deliver(ctx context.Context, due time.Time, m message) error {
	if err := w.send(ctx, func(ctx context.Context) error { _, err := w.link.Frames(ctx, m.body); return err }); err != nil {
		return err
	}
	delay := float64(time.Since(due)) / float64(time.Millisecond)
	w.fleet.count(func(c *Counts) {
		c.Messages++
		c.Frames += int64(m.frames)
		c.Bytes += int64(len(m.body))
		c.Delays.Record(delay, 1)
	})
	return nil
}

// acknowledge sends the identities of a message's transactions.
func (w *worker) acknowledge(ctx context.Context, m message) error {
	if m.transactions == 0 {
		return nil
	}
	w.batch++
	entries := make([]ledger.Entry, m.transactions)
	for i := range entries {
		_, _ = rand.Read(entries[i].Hash[:]) // never fails
		entries[i].Millis = m.second*1000 + int64(i)
	}
	text := ledger.AppendText(nil, entries)
	if err := w.send(ctx, func(ctx context.Context) error { return w.link.Acknowledged(ctx, w.batch, text) }); err != nil {
		return err
	}
	w.fleet.count(func(c *Counts) {
		c.Batches++
		c.Entries += m.transactions
	})
	return nil
}

// heartbeats are sent once a second until ctx is done.
func (w *worker) heartbeats(ctx context.Context) {
	pause := mathrand.N(heartbeatEvery) // the workers have joined at different times
	for Sleep(ctx, pause) == nil {
		_, _ = w.link.Heartbeat(ctx) // frames fail too if the coordinator is lost
		pause = heartbeatEvery
	}
}

// send repeats a message until it succeeds or is refused, or ctx is done.
func (w *worker) send(ctx context.Context, message func(context.Context) error) error {
	for pause := 50 * time.Millisecond; ; pause = min(2*pause, time.Second) {
		err := message(ctx)
		var refused *wire.RefusedError
		if err == nil || errors.As(err, &refused) || ctx.Err() != nil {
			return err
		}
		w.fleet.count(func(c *Counts) { c.Repeated++ })
		if err := Sleep(ctx, pause); err != nil {
			return err
		}
	}
}

// Sleep waits unless ctx is done first.
func Sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(max(0, d))
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}
