package model

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"assay.dev/assay/internal/hint"
	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/project/model/accesslog"
	"assay.dev/assay/internal/project/model/traffic"
	"assay.dev/assay/internal/spec"
)

// Observed is what was read.
type Observed struct {
	Inputs   []Input
	Tally    *traffic.Tally
	From, To int64  // window, s since 1970, [From, To)
	Outside  uint64 // requests outside of it that the tally has not seen
}

// Options are how a profile is made of it.
type Options struct {
	Profile string         // its name
	Scale   float64        // scale of the profile's rates, above 0
	Zone    *time.Location // time zone of the times in the document
}

// ErrNoRequests is wrapped if a log has no request in its window.
var ErrNoRequests = errors.New("no request of a known path")

// Propose makes the document.
func Propose(o Observed, opts Options) (Document, error) {
	p := proposal{Options: opts, observed: o}
	d := Document{Schema: Schema, Profile: opts.Profile, Scale: opts.Scale, Inputs: o.Inputs, LeftOut: LeftOut{
		Outside: int64(o.Outside + o.Tally.Outside), Apart: int64(o.Tally.Apart),
		UnknownPaths: int64(o.Tally.Unknown.Requests), TooManyPaths: int64(o.Tally.Others.Requests),
	}}
	var endpoints []*traffic.Endpoint
	for _, e := range o.Tally.Endpoints() {
		if e.Method == accesslog.OTHER {
			d.LeftOut.OtherMethods += int64(e.Requests)
			continue
		}
		endpoints = append(endpoints, e)
	}
	p.from, p.total = o.From, make([]uint32, o.To-o.From)
	for _, e := range endpoints {
		e.AddTo(p.total, o.From)
	}
	p.trim()
	if len(p.total) == 0 {
		return d, ErrNoRequests
	}
	p.gaps = gapsOf(p.total)
	d.Window = Window{Start: p.time(0), End: p.time(len(p.total)), Gaps: []Span{}}
	for _, g := range p.gaps {
		d.Window.Gaps = append(d.Window.Gaps, Span{p.time(g.from), int64(g.seconds())})
	}
	d.Window.Seconds = int64(p.covered(span{0, len(p.total)}))
	d.Requests = int64(sumOf(p.total))
	d.Rates = p.rates(p.total)
	if err := p.tooFast(d.Rates.PeakMinute.Rate * p.Scale); err != nil {
		return d, err
	}
	p.propose(&d, endpoints)
	for _, s := range d.Stages {
		if err := p.tooFast(s.Rate); err != nil {
			return d, err
		}
	}
	p.places = o.Tally.Places()
	d.MayBeNames = append([]string{}, p.places.Left...)
	d.Notes = p.notes(d)
	return d, nil
}

type proposal struct {
	Options
	observed Observed
	from     int64    // s since 1970, of the first second
	total    []uint32 // requests of each second
	gaps     []span
	perFlow  [][]uint32
	groups   []*group // groups of the flows
	top      peak     // minute
	places   traffic.Places
	// judgments are those of the flows; moved are the names of those that became a part of what
	// is left.
	judgments []judgment
	moved     []string
}

// tooFast is an error if a stage's rate is higher than that of any profile.
func (p *proposal) tooFast(rate float64) error {
	if rate <= spec.MaxRate {
		return nil
	}
	return hint.With(fmt.Errorf("a scale of %g makes %.3g requests per second at the peak: a profile has at most %d", p.Scale, rate, int(spec.MaxRate)),
		"choose a smaller scale: 1.5 is one and a half times the log's rates")
}

// trim cuts the time to that from the first to the last request.
func (p *proposal) trim() {
	first := slices.IndexFunc(p.total, func(n uint32) bool { return n > 0 })
	if first < 0 {
		p.total = nil
		return
	}
	p.from += int64(first)
	p.total = p.total[first:]
	for p.total[len(p.total)-1] == 0 {
		p.total = p.total[:len(p.total)-1]
	}
}

// covered is the number of seconds of a span without gaps.
func (p *proposal) covered(s span) int {
	n := s.seconds()
	for _, g := range p.gaps {
		n -= max(0, min(g.to, s.to)-max(g.from, s.from))
	}
	return n
}

func (p *proposal) time(second int) string {
	return time.Unix(p.from+int64(second), 0).In(p.Zone).Format(time.RFC3339)
}

func (p *proposal) rates(seconds []uint32) Rates {
	covered, sum := float64(p.covered(span{0, len(p.total)})), float64(sumOf(seconds))
	minute, second := peakOf(seconds, secondsOfMinute), peakOf(seconds, 1)
	r := Rates{
		Mean:       significant(sum / covered),
		PeakMinute: Peak{significant(minute.rate()), p.time(minute.at)},
		PeakSecond: Peak{significant(second.rate()), p.time(second.at)},
	}
	r.PeakToMean = significant(minute.rate() * covered / sum)
	if v, ok := dispersionOf(seconds); ok {
		v = significant(v)
		r.Dispersion = &v
	}
	return r
}

// propose sets flows and stages. Flows that can decide nothing by themselves become a part of
// what is left.
func (p *proposal) propose(d *Document, endpoints []*traffic.Endpoint) {
	groups, reads, writes := flowGroups(endpoints)
	for {
		d.Flows = p.flows(groups, reads, writes)
		p.stages(d)
		moved := append(p.small(*d, true), p.small(*d, false)...)
		if len(moved) == 0 {
			break
		}
		for _, i := range moved {
			g := p.groups[i]
			groups = slices.DeleteFunc(groups, func(of *group) bool { return of == g })
			if g.method.Safe() {
				reads = reads.with(g)
			} else {
				writes = writes.with(g)
			}
			p.moved = append(p.moved, d.Flows[i].Name)
		}
	}
	slices.Sort(p.moved)
	for i := range d.Stages {
		d.Stages[i].Judge = slices.ContainsFunc(d.Flows, func(f Flow) bool { return f.Judged[i] })
	}
}

// flows makes the flows, and keeps the requests of each second of each.
func (p *proposal) flows(groups []*group, reads, writes *group) (all []Flow) {
	p.perFlow, p.groups = nil, nil
	flowNames, endpointNames := names{separator: '-', longest: longestFlowName}, names{separator: '_', longest: longestEndpointName}
	total := float64(sumOf(p.total))
	add := func(g *group, f Flow, words ...string) {
		seconds := make([]uint32, len(p.total))
		var latency metric.Hist
		errors := uint64(0)
		for _, e := range g.endpoints {
			e.AddTo(seconds, p.from)
			latency.Merge(&e.Latency)
			errors += e.Errors()
			f.Endpoints = append(f.Endpoints, endpoint(e, g.requests, &endpointNames))
		}
		requests := sumOf(seconds)
		if requests == 0 {
			return
		}
		f.Name = flowNames.of(words...)
		f.Script = "scenarios/" + f.Name + ".js"
		f.Requests, f.Share = int64(requests), significant(float64(requests)/total)
		f.Errors, f.Latency, f.Rates = significant(float64(errors)/float64(g.requests)), latencyOf(&latency), p.rates(seconds)
		all, p.perFlow, p.groups = append(all, f), append(p.perFlow, seconds), append(p.groups, g)
	}
	for _, g := range groups {
		words := append([]string{g.method.String()}, g.prefix...)
		if len(g.prefix) == 0 {
			words = append(words, "root")
		}
		add(g, Flow{Method: g.method.String(), Prefix: g.path(), Writes: !g.method.Safe()}, words...)
	}
	if reads != nil {
		add(reads, Flow{}, "rest")
	}
	if writes != nil {
		add(writes, Flow{Writes: true}, "rest", "writes")
	}
	return all
}

func endpoint(e *traffic.Endpoint, of uint64, all *names) Endpoint {
	words := []string{e.Method.String()}
	out := Endpoint{
		Method: e.Method.String(), Template: e.Template(), Requests: int64(e.Requests), Share: significant(float64(e.Requests) / float64(of)),
		Status: map[string]int64{}, Latency: latencyOf(&e.Latency), Query: queryOf(e), Segments: append([]traffic.Segment{}, e.Segments...),
	}
	for _, s := range e.Segments {
		words = append(words, s.String())
	}
	if len(e.Segments) == 1 && e.Segments[0] == (traffic.Segment{}) {
		words = append(words, "root")
	}
	out.Name = all.of(words...)
	for class, n := range e.Status {
		if n > 0 {
			out.Status[statusClass(class)] = int64(n)
		}
	}
	if k := e.Keys.Skew(); k.Distinct > 1 {
		out.Keys = &Keys{
			Distinct: int64(math.Round(k.Distinct)), Total: int64(k.Keys), Exponent: math.Round(100*k.Exponent) / 100,
			TopShare: significant(k.TopShare), Counted: k.Counted,
		}
	}
	return out
}

func statusClass(class int) string {
	if class == 0 {
		return "none"
	}
	return fmt.Sprintf("%dxx", class)
}

func latencyOf(h *metric.Hist) *Latency {
	if h.Count() == 0 {
		return nil
	}
	at := func(q float64) float64 { v, _ := h.Quantile(q); return significant(v) }
	return &Latency{Requests: int64(h.Count()), P50: at(0.5), P95: at(0.95), P99: at(0.99), Max: at(1)}
}

// A name in a query is shown if at least this share of the requests have it: others may be
// anything that somebody sent.
const leastNameShare = 0.05

func queryOf(e *traffic.Endpoint) []Name {
	all := []Name{}
	for name, n := range e.Names {
		if share := float64(n) / float64(e.Requests); name != "" && share >= leastNameShare {
			all = append(all, Name{name, significant(share)})
		}
	}
	slices.SortFunc(all, func(a, b Name) int {
		return cmp.Or(cmp.Compare(b.Share, a.Share), strings.Compare(a.Name, b.Name))
	})
	return all
}
