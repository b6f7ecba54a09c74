// SPDX-License-Identifier: Apache-2.0

package metric

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
)

// maxCount bounds a counter's increase: from here on not every whole number is a float64,
// and no sum of a run's frames overflows.
const maxCount = 1 << 53

// collectors are the sources of frames that have no number or name of their own.
var collectors = []string{SourceDatabase, SourceService, SourceHost, SourceLag, SourceReceiver, SourceGauges, SourceNeighbours}

// byWallClock are sums of times that k6 takes by the wall clock, which may be set back.
var byWallClock = []string{EndedIterationTime, EndedRequestTime, EndedBlockedTime}

// kindOf is the source of the catalogue that a frame's source is one of; false: no program
// sends frames under that name.
func kindOf(source string) (kind string, ok bool) {
	switch {
	case IsWorker(source):
		n, err := strconv.Atoi(source[len(workerPrefix):])
		return SourceWorker, err == nil && n >= 0 && WorkerSource(n) == source
	case IsStub(source):
		return SourceStub, true
	case IsForeign(source):
		return SourceForeign, true
	}
	return source, slices.Contains(collectors, source)
}

// Check says why no program that keeps to the catalogue can have measured a decoded frame;
// nil: one can. What is wrong with the sums of several points is not checked here.
func (f Frame) Check() error {
	source, known := kindOf(f.Source)
	switch {
	case !known:
		return errors.New("nothing sends frames under this name")
	case source == SourceForeign:
		if f.Length < 0 || f.Length > maxInterval {
			return fmt.Errorf("an interval of %d s", f.Length)
		}
	case f.Sequence == 0:
		return errors.New("a frame without a number")
	case f.Length < 0 || f.Length > 1:
		return fmt.Errorf("a frame of %d s", f.Length)
	}
	for _, p := range f.Points {
		if err := p.check(source); err != nil {
			return fmt.Errorf("%s %w", p.Series.Key(), err)
		}
	}
	return nil
}

// Sound is the frame of a source that is no worker without the points that cannot have been
// measured.
func (f Frame) Sound() Frame {
	points := f.Points
	f.Points = nil
	if source, _ := kindOf(f.Source); f.Check() == nil {
		f.Points = slices.DeleteFunc(slices.Clone(points), func(p Point) bool { return p.check(source) != nil })
	}
	return f
}

// check is Frame.Check for one point. What a script measures by metrics of its own may be
// any finite number, if it is no count of samples.
func (p Point) check(source string) error {
	if source == SourceForeign {
		if p.Kind == Counter {
			return checkCount(p.Value)
		}
		return nil
	}
	name, want := p.Series.Name, Counter
	of := WithoutRate(name)
	isPart := of != name
	d, known := Find(of)
	if known = known && d.InFrames(); !isPart {
		want = d.Kind
	}
	switch {
	case !known && source != SourceWorker:
		return errors.New("is not in the catalogue")
	case known && !d.From(source) && !(source == SourceWorker && d.From(SourceK6)):
		return fmt.Errorf("is nothing that a %s measures", source)
	case known && (p.Kind != want || isPart && d.Kind != Rate), isPart && p.Kind != Counter:
		return fmt.Errorf("is not a %s", p.Kind)
	case isPart && p.Value != math.Trunc(p.Value):
		return fmt.Errorf("counts %g samples", p.Value)
	case p.Kind == Histogram:
		return cmp.Or(p.Hist.checkOwn(), p.checkExemplars())
	case !isFinite(p.Value):
		return fmt.Errorf("is %g", p.Value)
	case !known && !isPart:
		return nil
	case p.Kind == Counter && slices.Contains(byWallClock, name):
		return checkCount(math.Abs(p.Value))
	case p.Kind == Counter:
		return checkCount(p.Value)
	}
	return nil
}

func checkCount(v float64) error {
	switch {
	case !isFinite(v):
		return fmt.Errorf("is %g", v)
	case v < 0:
		return fmt.Errorf("is negative: %g", v)
	case v > maxCount:
		return fmt.Errorf("is %g, too large for a count", v)
	}
	return nil
}

func isFinite(v float64) bool { return v-v == 0 }

// checkExemplars checks that each exemplar can be an observation of the histogram.
func (p Point) checkExemplars() error {
	if n := len(p.Exemplars); uint64(n) > p.Hist.total {
		return fmt.Errorf("has %d exemplars of %d observations", n, p.Hist.total)
	}
	for _, e := range p.Exemplars {
		if !(p.Hist.min <= e.Value && e.Value <= p.Hist.max) {
			return fmt.Errorf("has an exemplar of %g: its observations are from %g to %g", e.Value, p.Hist.min, p.Hist.max)
		}
	}
	return nil
}

// checkOwn checks what this program records in each histogram, beside what every received
// one must hold: its own resolution, its exact extremes, and a sum that they allow.
func (h *Hist) checkOwn() error {
	if h.Coarse() {
		return errors.New("is coarser than what this program records")
	}
	if h.total == 0 {
		return nil
	}
	const slack = 1e-6 // relative, of the rounding of as many additions
	n, lowest := float64(h.total), math.Inf(-1)
	if first, _, used := h.used(); used && h.zero == 0 {
		lowest = upperBound(h.offset+first-1, h.Scale())
	}
	switch {
	case !isFinite(h.min) || !isFinite(h.max) || !isFinite(h.sum):
		return fmt.Errorf("has observations from %g to %g with a sum of %g", h.min, h.max, h.sum)
	case h.min < lowest*(1-slack):
		return fmt.Errorf("has a minimum of %g below its lowest bucket, which begins at %g", h.min, lowest)
	case h.sum < n*(h.min-slack*math.Abs(h.min)) || h.sum > n*(h.max+slack*math.Abs(h.max)):
		return fmt.Errorf("has a sum of %g: %d observations from %g to %g", h.sum, h.total, h.min, h.max)
	}
	return nil
}
