package arrivals

import (
	"time"

	"go.k6.io/k6/metrics"
)

// Outcome is how a scheduled transaction ended.
type Outcome uint8

// The outcomes. A transaction that the executor calls completed has still
// failed if one of its requests did; the output, which sees them, decides.
const (
	Completed Outcome = iota
	Failed
	TimedOut
	Dropped
)

// VUTag is the tag of all samples that a VU makes; its value is the VU's number.
// It tells which transaction a request belonged to. A tag costs nothing a
// sample, where k6's own system tag vu is metadata, copied for every request.
// Other outputs see it as a tag like any.
const VUTag = "assay_vu"

// Transaction is the end of one slot of the schedule: what the executor hands
// to the outputs. To other outputs than ours it is one sample of
// transaction_duration.
type Transaction struct {
	Due      time.Duration // scheduled instant, since t0
	Latency  time.Duration // from Due to its end; the time-out for a dropped one
	Outcome  Outcome
	VU       string        // that ran it, as in its samples' VUTag; empty for a dropped one
	Lag      time.Duration // delay of its start that the generator caused
	Queueing time.Duration // delay of its start because every VU was busy
	// Interrupted tells of one that was still under way when the run ended.
	Interrupted bool
	Stalls      *Stalls // of the generator

	sample metrics.Sample
}

// Begun is a transaction whose VU is about to run it: what the VU sends from now
// on belongs to it. Of its fields only Due, VU, Lag, Queueing and Stalls are set.
type Begun Transaction

// GetSamples is empty: other outputs have no use for it.
func (*Begun) GetSamples() []metrics.Sample { return nil }

// GetSamples gives the transaction as a sample of transaction_duration.
func (t *Transaction) GetSamples() []metrics.Sample { return []metrics.Sample{t.sample} }

// Scheduled is the number of slots that fell due in one second: counted from
// the schedule itself, apart from what became of them, so that the two can be
// compared.
type Scheduled struct {
	Second int64 // since t0
	Slots  int64
}

// GetSamples is empty: other outputs have no use for it.
func (Scheduled) GetSamples() []metrics.Sample { return nil }

// slotCount walks a schedule second by second.
type slotCount struct {
	schedule *Schedule
	next     time.Duration
	more     bool
}

func newSlotCount(s *Schedule) *slotCount {
	c := &slotCount{schedule: s}
	c.next, c.more = s.Next()
	return c
}

// upTo reports the slots due before end that it has not reported yet.
func (c *slotCount) upTo(end time.Duration, out chan<- metrics.SampleContainer) {
	for c.more && c.next < end {
		s := Scheduled{Second: int64(c.next / time.Second)}
		for c.more && c.next < end && int64(c.next/time.Second) == s.Second {
			s.Slots++
			c.next, c.more = c.schedule.Next()
		}
		out <- s
	}
}
