package run

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/observe/record"
	"assay.dev/assay/internal/plan"
)

// looks are the interim looks at a running hold: the instants at which it is judged,
// and then ends or is extended (docs/calibration.md). A plan with a single look has none.
type looks struct {
	plan      plan.Plan
	undecided func(record.Run) []string

	mu       sync.Mutex
	timeline *record.Timeline
	passed   int  // number of looks that did not decide, or were skipped
	ended    bool // the latest look decided
}

func newLooks(p plan.Plan, undecided func(record.Run) []string) *looks {
	if undecided == nil {
		undecided = func(record.Run) []string { return nil }
	}
	return &looks{plan: p, undecided: undecided, timeline: record.NewTimeline()}
}

func (l *looks) add(f metric.Frame) {
	if len(l.plan.Looks) == 0 {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.timeline.Add(f)
}

// judge judges r (plan and facts; frames are those added so far) if the next look is
// due: its window has passed, and every transaction in it has ended. The last look is
// made on the sealed record. A look with open transactions is skipped once the next
// one is due.
func (l *looks) judge(r record.Run, at time.Duration) (undecided []string, due bool) {
	if l.ended || l.passed+1 >= len(l.plan.Looks) || at < l.plan.Looks[l.passed] {
		return nil, false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	next := l.passed + 1
	r.Facts.Look, r.Timeline = next, l.timeline
	r.Plan.Load = l.plan.At(next)
	if !l.complete(record.SpanOf(r.Facts.T0, r.Plan.Load.Judged[0])) {
		if at >= l.plan.Looks[next] {
			l.passed = next
		}
		return nil, false
	}
	if undecided = l.undecided(r); len(undecided) > 0 {
		l.passed = next
	} else {
		l.ended = true
	}
	return undecided, true
}

// complete reports whether every transaction scheduled in the span has ended.
func (l *looks) complete(span record.Span) bool {
	scheduled, ok := l.timeline.Sum(metric.TransactionsScheduled, nil, span)
	ended, _ := l.timeline.Sum(metric.Transactions, nil, span)
	return ok && scheduled > 0 && scheduled == ended && scheduled >= float64(l.plan.At(l.passed+1).JudgedArrivals())
}

// look is the number of the look at which the run ends, from 1; 0: the plan has a
// single look.
func (l *looks) look() int {
	if len(l.plan.Looks) == 0 {
		return 0
	}
	return l.passed + 1
}

// hold is how long the hold lasts up to the next look.
func (l *looks) hold() time.Duration { return l.plan.Looks[l.passed] - l.plan.Judged[0].Start }

// summary is the first text and the number of the others.
func summary(texts []string) string {
	if len(texts) == 1 {
		return texts[0]
	}
	return fmt.Sprintf("%s and %d more", strings.TrimSpace(texts[0]), len(texts)-1)
}
