package arrivals

import (
	"time"

	"go.k6.io/k6/v2/metrics"

	"assay.dev/assay/internal/load/mark"
)

// Outcome is how a scheduled transaction ended.
type Outcome uint8

// The outcomes. A transaction that the executor reports as completed has still
// failed if one of its requests did; the output, which sees them, decides.
const (
	Completed Outcome = iota
	Failed
	TimedOut
	Dropped
)

// VUTag is a tag of all samples of a VU, by which requests are assigned to their
// transaction; its value is the VU's number. A tag costs nothing per sample, whereas
// k6's own system tag vu is metadata that is copied for every request. Other outputs
// see it as any other tag.
const VUTag = "assay_vu"

// Transaction is the outcome of one slot of the schedule, as the executor sends it to
// the outputs. Other outputs see one sample of transaction_duration.
type Transaction struct {
	Scenario    string        // k6 scenario
	Due         time.Duration // scheduled instant, since t0
	Latency     time.Duration // from Due to its end, less Think; the timeout for a dropped one
	Think       time.Duration // time that its script waited by think()
	Outcome     Outcome
	VU          string            // value of VUTag in its samples; empty for a dropped one
	Lag         time.Duration     // delay of its start that the generator caused
	Queueing    time.Duration     // delay of its start because every VU was busy
	Interrupted bool              // it was still running when the run ended
	Silent      bool              // it has begun to send nothing, unless k6 reports bytes of it
	OwnError    bool              // the script threw an error of its own, such as a TypeError
	Stalls      *Stalls           // stalls of the generator
	Trace       *mark.Transaction // marks of its requests; nil: none

	pauses *Pauses // of its VU
	sample metrics.Sample
}

// Waits reports whether a transaction that was interrupted may have been waiting for a request
// that is not among those reported, or for a timer. It is known of scripts that send HTTP alone.
func (t *Transaction) Waits(reported int) bool {
	return t.pauses == nil || t.pauses.sent.Load() != int64(reported) || t.pauses.timers.Load() > 0
}

// Thought corrects for how long the script thought, which its latency does not count.
func (t *Transaction) Thought(d time.Duration) {
	t.Latency += t.Think - d
	t.Think = d
	t.sample.Value = metrics.D(t.Latency)
}

// TransactionStart announces a transaction: samples that its VU sends from now on
// belong to it. Only Scenario, Due, VU, Lag, Queueing, Stalls and Trace are set.
type TransactionStart Transaction

// GetSamples is empty: only our output reads it.
func (*TransactionStart) GetSamples() []metrics.Sample { return nil }

// GetSamples returns the transaction as a sample of transaction_duration.
func (t *Transaction) GetSamples() []metrics.Sample { return []metrics.Sample{t.sample} }

// Scheduled is the number of slots that fell due in one second: counted from the
// schedule itself, independently of their outcomes, so that the two can be
// compared.
type Scheduled struct {
	Scenario string // k6 scenario
	Second   int64  // since t0
	Slots    int64
}

// GetSamples is empty: only our output reads it.
func (Scheduled) GetSamples() []metrics.Sample { return nil }

// slotCount walks a schedule second by second.
type slotCount struct {
	scenario string
	schedule *Schedule
	next     time.Duration
	more     bool
}

func newSlotCount(scenario string, s *Schedule) *slotCount {
	c := &slotCount{scenario: scenario, schedule: s}
	c.next, c.more = s.Next()
	return c
}

// upTo reports the slots due before end that it has not reported yet.
func (c *slotCount) upTo(end time.Duration, out chan<- metrics.SampleContainer) {
	for c.more && c.next < end {
		s := Scheduled{Scenario: c.scenario, Second: int64(c.next / time.Second)}
		for c.more && c.next < end && int64(c.next/time.Second) == s.Second {
			s.Slots++
			c.next, c.more = c.schedule.Next()
		}
		out <- s
	}
}
