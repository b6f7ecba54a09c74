package receiver_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"assay.dev/assay/internal/mask"
	"assay.dev/assay/internal/observe/collect/receiver"
	"assay.dev/assay/internal/observe/ledger"
	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/wire"
)

// sinks records what the receiver passes on. It needs no lock, because the receiver calls
// one sink at a time; the race detector would find a violation.
type sinks struct {
	frames  []metric.Frame
	encoded [][]byte // by call
	acks    map[string][]ledger.Entry
	fail    func() error // called before each message; nil: never fails
	flushed int          // frames that were passed on before the last flush
	flushes int
	broken  error // error of every flush
}

func (received *sinks) flush() error {
	if received.broken != nil {
		return received.broken
	}
	received.flushed, received.flushes = len(received.frames), received.flushes+1
	return nil
}

func (received *sinks) take(frames []metric.Frame, encoded []byte) error {
	if received.fail != nil {
		if err := received.fail(); err != nil {
			return err
		}
	}
	for _, f := range frames {
		received.frames = append(received.frames, f.Clone())
	}
	received.encoded = append(received.encoded, encoded)
	return nil
}

func (received *sinks) acknowledged(source string, batch uint64, entries []ledger.Entry) error {
	if received.fail != nil {
		if err := received.fail(); err != nil {
			return err
		}
	}
	for i := range entries {
		entries[i].Millis += 1000 * int64(batch) // the test reads it there
	}
	received.acks[source] = append(received.acks[source], entries...)
	return nil
}

const token = "secret"

var keys = wire.NewKeys("run", token)

// worker is the link of a worker that has joined.
func worker(url string, number int) *wire.Link {
	return wire.New(url, token, nil).As(wire.Assignment{Source: metric.WorkerSource(number), Credential: keys.Credential(number, "identity")})
}

// listen starts a receiver.
func listen(t *testing.T) (r *receiver.Receiver, url string, received *sinks) {
	t.Helper()
	received = &sinks{acks: map[string][]ledger.Entry{}}
	r = receiver.New(receiver.Sinks{Frames: received.take, Acknowledged: received.acknowledged, Flush: received.flush}, keys, slog.New(slog.DiscardHandler))
	mux := http.NewServeMux()
	r.Routes(mux)
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return r, s.URL, received
}

func frame(source string, sequence uint64) metric.Frame {
	return metric.Frame{
		Source: source, Sequence: sequence, Second: 1_795_219_933 + int64(sequence),
		Points: []metric.Point{metric.CounterPoint(metric.NewSeries("n", ""), float64(sequence))},
	}
}

func encoded(t *testing.T, frames ...metric.Frame) []byte {
	t.Helper()
	body, err := metric.Encode(frames...)
	if err != nil {
		t.Fatal(err)
	}
	return body
}

func TestRefusals(t *testing.T) {
	_, url, received := listen(t)
	entry := string(ledger.AppendText(nil, []ledger.Entry{{Millis: 1}}))
	protobuf := "application/x-protobuf"
	good, ofWorker := "Bearer "+token, "Bearer "+keys.Credential(0, "identity")
	stale := "Bearer " + wire.NewKeys("run before", token).Credential(0, "identity")
	frames := func(f metric.Frame) io.Reader { return bytes.NewReader(encoded(t, f)) }
	for name, c := range map[string]struct {
		method, path, token, kind, source, sequence string
		body                                        io.Reader
		want                                        int
	}{
		"no token":                  {"POST", wire.PathMetrics, "", protobuf, "", "", strings.NewReader(""), 401},
		"wrong token":               {"POST", wire.PathMetrics, "Bearer secrets", protobuf, "", "", strings.NewReader(""), 401},
		"token without Bearer":      {"POST", wire.PathAcknowledged, token, "text/plain", "worker/0", "1", strings.NewReader(entry), 401},
		"no such path":              {"POST", "/v1/else", good, protobuf, "", "", strings.NewReader(""), 404},
		"GET":                       {"GET", wire.PathMetrics, good, protobuf, "", "", nil, 405},
		"JSON":                      {"POST", wire.PathMetrics, good, "application/json", "", "", strings.NewReader("{}"), 415},
		"no content type":           {"POST", wire.PathMetrics, good, "", "", "", strings.NewReader(""), 415},
		"not protobuf":              {"POST", wire.PathMetrics, good, protobuf, "", "", strings.NewReader("hello"), 400},
		"another run's worker":      {"POST", wire.PathMetrics, stale, protobuf, "", "", frames(frame("worker/0", 1)), 401},
		"another worker's frames":   {"POST", wire.PathMetrics, ofWorker, protobuf, "", "", frames(frame("worker/1", 1)), 403},
		"a collector's frames":      {"POST", wire.PathMetrics, ofWorker, protobuf, "", "", frames(frame("database", 1)), 403},
		"a worker's frames, forged": {"POST", wire.PathMetrics, good, protobuf, "", "", frames(frame("worker/0", 1)), 403},
		"another worker's entries":  {"POST", wire.PathAcknowledged, ofWorker, "text/plain", "worker/1", "1", strings.NewReader(entry), 403},
		"entries, forged":           {"POST", wire.PathAcknowledged, good, "text/plain", "worker/0", "1", strings.NewReader(entry), 403},
		"too large":                 {"POST", wire.PathMetrics, good, protobuf, "", "", io.LimitReader(zeros{}, 64<<20+1), 413},
		"too many entries":          {"POST", wire.PathAcknowledged, ofWorker, "text/plain", "worker/0", "1", io.LimitReader(zeros{}, 64<<20+1), 413},
		"no sequence":               {"POST", wire.PathAcknowledged, ofWorker, "text/plain", "worker/0", "", strings.NewReader(entry), 400},
		"sequence 0":                {"POST", wire.PathAcknowledged, ofWorker, "text/plain", "worker/0", "0", strings.NewReader(entry), 400},
		"negative sequence":         {"POST", wire.PathAcknowledged, ofWorker, "text/plain", "worker/0", "-1", strings.NewReader(entry), 400},
		"no source":                 {"POST", wire.PathAcknowledged, ofWorker, "text/plain", "", "1", strings.NewReader(entry), 400},
		"not entries":               {"POST", wire.PathAcknowledged, ofWorker, "text/plain", "worker/0", "1", strings.NewReader("hello\n"), 400},
	} {
		t.Run(name, func(t *testing.T) {
			req, err := http.NewRequestWithContext(t.Context(), c.method, url+c.path, c.body)
			if err != nil {
				t.Fatal(err)
			}
			for header, value := range map[string]string{
				"Authorization": c.token, "Content-Type": c.kind, wire.HeaderSource: c.source, wire.HeaderSequence: c.sequence,
			} {
				if value != "" {
					req.Header.Set(header, value)
				}
			}
			resp, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			body, err := io.ReadAll(resp.Body)
			if err != nil || resp.StatusCode != c.want || bytes.Contains(body, []byte(token)) {
				t.Errorf("response %d %q, %v, want %d", resp.StatusCode, body, err, c.want)
			}
		})
	}
	if len(received.frames)+len(received.acks) > 0 {
		t.Errorf("accepted: %v, %v", received.frames, received.acks)
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

// A repeated frame is passed on once; a frame that the sink rejected is sent again.
func TestEachFrameIsAcceptedOnce(t *testing.T) {
	_, url, received := listen(t)
	l := worker(url, 0)
	send := func(sequences ...uint64) error {
		var frames []metric.Frame
		for _, s := range sequences {
			frames = append(frames, frame("worker/0", s))
		}
		_, err := l.Frames(t.Context(), encoded(t, frames...))
		return err
	}
	if err := errors.Join(send(1, 2), send(1, 2), send(2, 3), send(1)); err != nil {
		t.Fatal(err)
	}
	// A message of three frames is not recorded: the sender repeats it.
	received.fail = func() error { received.fail = nil; return errors.New("no space left on device") }
	var refused *wire.RefusedError
	if err := send(4, 5, 6); err == nil || errors.As(err, &refused) {
		t.Errorf("a failed write is %v, want an error that can be retried", err)
	}
	// A gap is passed on. Frames without a number are all accepted.
	if err := errors.Join(send(4, 5, 6), send(9), send(0), send(0)); err != nil {
		t.Fatal(err)
	}
	got := ""
	for _, f := range received.frames {
		got += fmt.Sprint(f.Sequence, " ")
	}
	if want := "1 2 3 4 5 6 9 0 0 "; got != want {
		t.Errorf("frames %s, want %s", got, want)
	}
}

// A worker's message is passed on as it was received, unless it repeats a frame or has a secret
// of this process. The frames of others are to be encoded.
func TestMessagesArePassedOnAsReceived(t *testing.T) {
	r, url, received := listen(t)
	l, foreign := worker(url, 0), wire.New(url, token, nil)
	first, second := encoded(t, frame("worker/0", 1), frame("worker/0", 2)), encoded(t, frame("worker/0", 2), frame("worker/0", 3))
	for _, body := range [][]byte{first, first, second} {
		if _, err := l.Frames(t.Context(), body); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := foreign.Frames(t.Context(), encoded(t, frame("otlp/checkout", 0))); err != nil {
		t.Fatal(err)
	}
	if err := r.Take(frame("host", 1)); err != nil {
		t.Fatal(err)
	}
	mask.Add("Zq7wordpartx9")
	told := frame("worker/0", 4)
	told.Points = append(told.Points, metric.CounterPoint(metric.NewSeries(metric.Requests, "", "name", "/?dsn=Zq7wordpartx9"), 1))
	if _, err := l.Frames(t.Context(), encoded(t, told)); err != nil {
		t.Fatal(err)
	}
	if all := fmt.Sprint(received.frames); strings.Contains(all, "Zq7") || !strings.Contains(all, "/?dsn=***") {
		t.Error(all)
	}
	if len(received.encoded) != 5 || !bytes.Equal(received.encoded[0], first) {
		t.Fatalf("passed on %d messages, the first %q", len(received.encoded), received.encoded)
	}
	for i, body := range received.encoded[1:] {
		if body != nil {
			t.Errorf("message %d: %q", i+2, body)
		}
	}
}

func TestEachAcknowledgementIsAcceptedOnce(t *testing.T) {
	_, url, received := listen(t)
	l := worker(url, 0)
	send := func(sequence uint64) error {
		return l.Acknowledged(t.Context(), sequence, ledger.AppendText(nil, []ledger.Entry{{Millis: int64(sequence)}}))
	}
	received.fail = func() error { received.fail = nil; return errors.New("no space left on device") }
	if err := send(1); err == nil {
		t.Error("a failed write is not an error")
	}
	if err := errors.Join(send(1), send(1), send(2), send(1), send(2), send(3)); err != nil {
		t.Fatal(err)
	}
	if got := received.acks["worker/0"]; len(got) != 3 || got[0].Millis != 1001 || got[1].Millis != 2002 || got[2].Millis != 3003 {
		t.Errorf("acknowledged %v", got)
	}
}

// With concurrent senders, each of which sends every frame twice, every frame is passed on
// once and each source's frames are in order.
func TestConcurrentSenders(t *testing.T) {
	_, url, received := listen(t)
	const senders, frames = 4, 50
	var all sync.WaitGroup
	for i := range senders {
		source := fmt.Sprintf("worker/%d", i)
		l := worker(url, i)
		for s := uint64(1); s <= frames; s++ {
			// The next frame is sent when this one is accepted; its repetition may be late.
			body := encoded(t, frame(source, s))
			all.Go(func() {
				if _, err := l.Frames(t.Context(), body); err != nil {
					t.Error(err)
				}
			})
			if _, err := l.Frames(t.Context(), body); err != nil {
				t.Error(err)
			}
		}
	}
	all.Wait()
	next := map[string]uint64{}
	for _, f := range received.frames {
		if next[f.Source]++; f.Sequence != next[f.Source] {
			t.Errorf("%s: frame %d, want %d", f.Source, f.Sequence, next[f.Source])
		}
	}
	if len(received.frames) != senders*frames {
		t.Errorf("%d frames, want %d", len(received.frames), senders*frames)
	}
}

// After Close the sinks, which may be closed, are not called, and the response tells
// senders not to retry.
func TestClosed(t *testing.T) {
	r, url, received := listen(t)
	l, foreign := worker(url, 0), wire.New(url, token, nil)
	var senders sync.WaitGroup
	for s := range uint64(20) {
		body := encoded(t, frame(fmt.Sprintf("otlp/%d", s), 0))
		senders.Go(func() { _, _ = foreign.Frames(t.Context(), body) }) // some arrive before Close, some after
	}
	r.Close()
	before := len(received.frames)
	senders.Wait()
	var refused *wire.RefusedError
	if _, err := l.Frames(t.Context(), encoded(t, frame("worker/0", 1))); !errors.As(err, &refused) {
		t.Errorf("frames after the end: %v", err)
	}
	if err := l.Acknowledged(t.Context(), 1, nil); !errors.As(err, &refused) {
		t.Errorf("acknowledgements after the end: %v", err)
	}
	if err := r.Take(frame("host", 1)); err == nil {
		t.Error("a collector's frame was accepted after the end")
	}
	if len(received.frames) != before || len(received.acks) > 0 {
		t.Errorf("accepted after the end: %d frames, %v", len(received.frames)-before, received.acks)
	}
}

// A message is acknowledged once it is durable. Concurrent messages share a flush, and
// none is acknowledged after a flush that failed.
func TestAcknowledgedOnceDurable(t *testing.T) {
	_, url, received := listen(t)
	begin := time.Now()
	var senders sync.WaitGroup
	for i := range 8 {
		l := worker(url, i)
		senders.Go(func() {
			for s := range uint64(20) {
				if _, err := l.Frames(t.Context(), encoded(t, frame(l.Source, s+1))); err != nil {
					t.Error(err)
				}
			}
		})
	}
	senders.Wait()
	if most := 1 + int(time.Since(begin)/receiver.FlushEvery); received.flushed != 8*20 || received.flushes > most {
		t.Errorf("%d of %d frames were flushed, in %d flushes, at most %d have time", received.flushed, 8*20, received.flushes, most)
	}
	received.broken = fmt.Errorf("append frames: %w", &fs.PathError{Op: "write", Path: "frames", Err: syscall.ENOSPC})
	var refused *wire.RefusedError
	if _, err := worker(url, 0).Frames(t.Context(), encoded(t, frame("worker/0", 21))); !errors.As(err, &refused) { // the run ends
		t.Errorf("what is not durable: %v", err)
	}
	// The repetition of a message whose flush failed waits for a flush too.
	if _, err := worker(url, 0).Frames(t.Context(), encoded(t, frame("worker/0", 21))); err == nil {
		t.Error("acknowledged a repetition of what is not durable")
	}
}

// A receiver that continues a run ignores what its record holds.
func TestContinue(t *testing.T) {
	r, url, received := listen(t)
	r.Continue(map[string]uint64{"worker/0": 2}, map[string]uint64{"worker/0": 1})
	l := worker(url, 0)
	for s := range uint64(3) {
		_, err := l.Frames(t.Context(), encoded(t, frame("worker/0", s+1)))
		if err := errors.Join(err, l.Acknowledged(t.Context(), s+1, ledger.AppendText(nil, []ledger.Entry{{Millis: 1}}))); err != nil {
			t.Fatal(err)
		}
	}
	if len(received.frames) != 1 || received.frames[0].Sequence != 3 || len(received.acks["worker/0"]) != 2 {
		t.Errorf("accepted %v and %v", received.frames, received.acks)
	}
}
