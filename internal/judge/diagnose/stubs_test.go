package diagnose

import (
	"strings"
	"testing"
	"time"

	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/observe/record"
	"assay.dev/assay/internal/spec"
)

// slowBank is a system whose downstream calls became slow, and a stub of it.
func slowBank(b bank) system {
	return system{base: healthy(), hold: with(healthy(), map[string]float64{Downstream: 400}), noise: 0.1, bank: &b}
}

// steadyCalls is a stub that is called once per transaction, without a queue.
func steadyCalls() bank { return bank{calls: [2]float64{1, 1}, background: 300} }

// The time in a stub is that of downstream calls, where the service does not report it: not
// twice where it does, and without calls for which no transaction waits.
func TestTimeInAStubIsDownstream(t *testing.T) {
	for name, only := range map[string]bool{"the stub alone": true, "both": false} {
		b := steadyCalls()
		b.only = only
		w := slowBank(b)
		f := w.diagnosed()
		if got := f.Bottleneck; got.Component != Downstream || *got.Confidence < MinConfidence || *got.GrowthMs < 380 || *got.GrowthMs > 420 || got.Cause != "" {
			t.Errorf("%s: %+v", name, got)
		}
		for _, c := range f.Split {
			if c.Component == Downstream && (*c.MsPerTransaction < 410 || *c.MsPerTransaction > 430 || *c.BaselineMsPerTransaction < 19 || *c.BaselineMsPerTransaction > 21) || c.Component == Service && *c.MsPerTransaction > 6 {
				t.Errorf("%s: %+v", name, c)
			}
		}
		if text := strings.Join(f.Bottleneck.Evidence, " "); !strings.Contains(text, "The stub bank took 4") || !strings.Contains(text, "per call of charge, against 20") || strings.Contains(text, "inquiry") {
			t.Errorf("%s: evidence %q", name, text)
		}
	}
	// A service that reports nothing at all, and no database.
	b := steadyCalls()
	b.only = true
	w := slowBank(b)
	w.noService, w.noDatabase = true, true
	if got := w.diagnosed().Bottleneck; got.Component != Downstream {
		t.Errorf("without a service's metrics: %+v", got)
	}
}

// Calls that are repeated are the cause if they wait in the stub's queue, more than at the
// baseline. That it has not recovered after the phase that began it is said.
func TestRetries(t *testing.T) {
	hold := synthesized().Run.Plan.Load.Judged[0]
	phase := func(from, length time.Duration) func(*record.Run) {
		return func(r *record.Run) {
			r.Facts.Stubs = []record.Stub{{Name: "bank", Phases: []spec.StubPhase{
				{Name: "slow", From: hold.Start + from, For: length, Endpoints: []string{"charge"}},
				{Name: "other", From: 0, Endpoints: []string{"inquiry"}},
			}}}
		}
	}
	for name, c := range map[string]struct {
		calls, queue [2]float64
		change       func(*record.Run)
		retries      bool
		said         string
	}{
		"metastable":           {[2]float64{1, 4}, [2]float64{0, 420}, phase(2*time.Second, 3*time.Second), true, "s after its phase slow"},
		"while it is slow":     {[2]float64{1, 4}, [2]float64{0, 420}, phase(2*time.Second, hold.End-hold.Start-4*time.Second), true, "against 0 at"},
		"until the end":        {[2]float64{1, 4}, [2]float64{0, 420}, phase(2*time.Second, 0), true, ""},
		"no phase":             {[2]float64{1, 4}, [2]float64{0, 420}, nil, true, ""},
		"no queue":             {[2]float64{1, 4}, [2]float64{0, 0}, nil, false, "it repeats calls"},
		"a queue as before":    {[2]float64{1, 4}, [2]float64{300, 420}, nil, false, "it repeats calls"},
		"as many calls":        {[2]float64{3, 3}, [2]float64{0, 420}, nil, false, "420 calls waited in the queue"},
		"none at the baseline": {[2]float64{0, 3}, [2]float64{0, 420}, nil, false, ""},
	} {
		w := slowBank(bank{calls: c.calls, queue: c.queue})
		w.change = c.change
		b := w.diagnosed().Bottleneck
		if b.Component != Downstream || (b.Cause == Retries) != c.retries || strings.Contains(b.Sentence, "retries keep it overloaded, with 4 calls per transaction, against 1 at the baseline, and 420 calls in its queue, against 0") != c.retries {
			t.Errorf("%s: %+v", name, b)
		}
		text := b.Sentence + " " + strings.Join(b.Evidence, " ")
		if !strings.Contains(text, c.said) || strings.Contains(b.Sentence, "has not recovered") != (name == "metastable") {
			t.Errorf("%s: %s", name, text)
		}
		if c.retries != strings.Contains(b.Remedy, "fewer retries") {
			t.Errorf("%s: remedy %s", name, b.Remedy)
		}
		if c.queue[1] > 0 && !strings.Contains(text, "75 % of its work was for callers that had left") {
			t.Errorf("%s: %s", name, text)
		}
	}
}

// A flow that makes calls, and whose share of the load grows, makes more calls per transaction
// of all flows: none is repeated for that. What exceeds the flow's growth is.
func TestShiftOfTheMixIsNoRetry(t *testing.T) {
	const before, later = 0.1, 0.4 // share of the flow that makes the calls
	for _, c := range []struct {
		calls   float64 // per transaction of all flows, in the hold
		repeats bool
	}{
		{later, false}, {1.4 * later, false}, {2 * later, true},
	} {
		w := slowBank(bank{calls: [2]float64{before, c.calls}, queue: [2]float64{0, 420}})
		w.noise = 0
		w.frames = func(second int64, _ string, points []metric.Point) []metric.Point {
			share := before
			if second >= 0 {
				share = later
			}
			var all []metric.Point
			for _, p := range points {
				if p.Series.Name != metric.TransactionsScheduled {
					all = append(all, p)
					continue
				}
				all = append(all, counterPoint(p.Series.Name, share*p.Value, "scenario", "payments"), counterPoint(p.Series.Name, (1-share)*p.Value, "scenario", "views"))
			}
			return all
		}
		b := w.diagnosed().Bottleneck
		if said := strings.Contains(strings.Join(b.Evidence, " "), "it repeats calls"); said != c.repeats || (b.Cause == Retries) != c.repeats {
			t.Errorf("%g calls: %+v", c.calls, b)
		}
	}
}

// The evidence compares the seconds of a phase with the others.
func TestPhaseOfAStub(t *testing.T) {
	hold := synthesized().Run.Plan.Load.Judged[0]
	from, length := int64(20), int64(30)
	w := slowBank(steadyCalls())
	w.frames = func(second int64, source string, points []metric.Point) []metric.Point {
		if metric.IsStub(source) && second >= 0 && (second < from || second >= from+length) {
			for i, p := range points {
				if p.Series.Name == metric.StubCallTime && p.Series.Label("endpoint") == "charge" {
					points[i].Value /= 4
				}
			}
		}
		return points
	}
	w.noise = 0
	w.change = func(r *record.Run) {
		r.Facts.Stubs = []record.Stub{{Name: "bank", Phases: []spec.StubPhase{
			{Name: "slow", From: hold.Start + 20*time.Second, For: 30 * time.Second},
			{Name: "later", From: hold.End + time.Minute},
		}}}
	}
	text := strings.Join(w.diagnosed().Bottleneck.Evidence, " ")
	at := func(second int64) string {
		return time.Unix(synthesized().Run.Facts.T0.Unix()+int64(hold.Start/time.Second)+second, 0).UTC().Format(time.TimeOnly)
	}
	want := "Its phase slow began at " + at(from) + " UTC, " + number((hold.Start + 20*time.Second).Seconds()) + " s after the start of the load, and lasted until " + at(from+length) + ": 420 ms per call in it, 105 ms in the other judged seconds."
	if !strings.Contains(text, want) || strings.Contains(text, "later") {
		t.Errorf("%s\nwant %s", text, want)
	}
}
