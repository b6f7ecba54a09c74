package receiver

import (
	"testing"
	"time"

	"assay.dev/assay/internal/observe/metric"
)

// The longest delay of each worker's reports since the last reading counts; frames for
// earlier seconds, which hold late completions, and other sources do not.
func TestDelays(t *testing.T) {
	d := NewDelays()
	now := time.Unix(1000, 0)
	d.now = func() time.Time { return now }
	frame := func(source string, second int64, name string) metric.Frame {
		return metric.Frame{Source: source, Second: second, Points: []metric.Point{metric.CounterPoint(metric.Of(name), 1)}}
	}
	now = time.Unix(1000, 200e6)
	d.Add(frame("worker/0", 999, metric.WorkerCPU))
	d.Add(frame("worker/0", 990, metric.TransactionsScheduled))
	d.Add(frame("host", 990, metric.WorkerCPU))
	now = time.Unix(1010, 100e6)
	for s := int64(1000); s < 1010; s++ {
		d.Add(frame("worker/1", s, metric.WorkerCPU)) // was away for ten seconds
	}
	got := map[string]float64{}
	for _, p := range d.read() {
		got[p.Series.Label("worker")] = p.Value
	}
	if len(got) != 2 || got["worker/0"] != 200 || got["worker/1"] != 9100 {
		t.Errorf("%v", got)
	}
	if again := d.read(); len(again) > 0 {
		t.Errorf("reported twice: %v", again)
	}
}
