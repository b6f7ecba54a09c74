package model

import "math"

// The stages of a profile. Steps of the log that are longer are shortened: what differs
// between them is the rate.
const (
	// A step before the peak is the baseline, to which the diagnosis compares the others, if
	// it has at most quiet of the peak's rate. Its stage has at least loaded of it, as the
	// baseline of a load without stages has; where there is no such step, usual.
	quiet, loaded, usual = 0.6, 0.2, 0.25
	baselineFor          = 30 // s
	// A stage is judged if its rate is at least this share of the peak's: lower ones are no
	// part of the event's load.
	judged                = 0.3
	stageLeast, stageMost = 30, 60  // s
	peakLeast, peakMost   = 60, 120 // s
	rampMost              = 30      // s
	firstRamp             = 5       // s, from 0
)

// stages sets the stages of the document, the rates of its flows in them, and their SLOs.
func (p *proposal) stages(d *Document) {
	d.Stages = nil
	p.top = peakOf(p.total, secondsOfMinute)
	spans, peakAt := steps(p.total, p.perFlow, p.top)
	rates := p.stageRates(spans, peakAt)
	top := sumAt(rates, peakAt)
	if peakAt == 0 || sumAt(rates, 0) > quiet*top {
		d.Stages = append(d.Stages, Stage{Ramp: firstRamp, For: baselineFor})
		for f := range d.Flows {
			d.Flows[f].Stages = append(d.Flows[f].Stages, p.scaled(usual*rates[f][peakAt]))
		}
	}
	for i, s := range spans {
		rate := sumAt(rates, i)
		if i > peakAt && rate < judged*top {
			break // after the event
		}
		one := Stage{Start: p.time(s.from), Seconds: int64(s.seconds()), Peak: i == peakAt, Measured: significant(rate)}
		if i > 0 {
			one.Ramp = int64(min(rampMost, rise(p.total, spans[i-1], s)))
		}
		factor := 1.0
		switch {
		case len(d.Stages) == 0:
			one.Ramp, one.For = firstRamp, baselineFor
			factor = max(1, loaded*top/rate)
		case i == peakAt:
			one.For, one.Judge = int64(min(max(s.seconds(), peakLeast), peakMost)), true
		default:
			one.For = int64(min(max(s.seconds(), stageLeast), stageMost))
			one.Judge = rate >= judged*top
		}
		if len(d.Stages) == 1 && one.Ramp == 0 { // after a baseline that the log has not
			one.Ramp = rampMost / 2
		}
		d.Stages = append(d.Stages, one)
		for f := range d.Flows {
			d.Flows[f].Stages = append(d.Flows[f].Stages, p.scaled(factor*rates[f][i]))
		}
	}
	p.judge(d)
	for i := range d.Stages {
		sum := 0.0
		for _, f := range d.Flows {
			sum += f.Stages[i]
		}
		d.Stages[i].Rate = significant(sum)
	}
}

func (p *proposal) scaled(rate float64) float64 { return significant(rate * p.Scale) }

// stageRates are the rates of each flow in each step: its mean, or that of the peak minute
// in the step that has it. A flow whose own busiest minute is in another, and stands out
// there, has the rate of that minute.
func (p *proposal) stageRates(spans []span, peakAt int) [][]float64 {
	rates := make([][]float64, len(p.perFlow))
	for f, seconds := range p.perFlow {
		own := peakOf(seconds, secondsOfMinute)
		spread := 1.0
		if v, ok := dispersionOf(seconds); ok {
			spread = max(1, v)
		}
		for i, s := range spans {
			mean := float64(sumOf(seconds[s.from:s.to])) / float64(max(1, p.covered(s)))
			if i == peakAt {
				mean = float64(sumOf(seconds[p.top.at:p.top.at+p.top.seconds])) / float64(p.top.seconds)
			}
			expected := mean * float64(own.seconds)
			if middle := own.at + own.seconds/2; middle >= s.from && middle < s.to && float64(own.requests) > expected+noise*math.Sqrt(expected*spread) {
				mean = own.rate()
			}
			rates[f] = append(rates[f], mean)
		}
	}
	return rates
}

func sumAt(rates [][]float64, i int) (sum float64) {
	for _, of := range rates {
		sum += of[i]
	}
	return sum
}
