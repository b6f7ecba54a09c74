package model

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"assay.dev/assay/internal/quantity"
)

const (
	// bursty is the dispersion from which on the profile's arrivals are smoother than the
	// log's.
	bursty = 2
	// A share of the requests that is worth a note.
	noted = 0.01
	// apart is how many seconds the first or last requests of two logs that overlap may be
	// apart, as a share of the window.
	apart = 0.1
)

// notes say what the reader of a document must know before the profile is used.
func (p *proposal) notes(d Document) []string {
	all := []string{}
	add := func(format string, args ...any) { all = append(all, fmt.Sprintf(format, args...)) }
	var writes []string
	for _, f := range d.Flows {
		if f.Writes {
			writes = append(writes, f.Name)
		}
	}
	if len(writes) > 0 {
		add("edit the scripts that write, %s: until then each of their transactions fails, so that no write is sent by mistake", strings.Join(writes, ", "))
	}
	if len(d.MayBeNames) > 0 {
		add("%s: read them before you pass the files on; --route '%s/{name}' replaces them", mayBeNames(d), d.MayBeNames[0])
	}
	if replaced := p.places.Replaced; len(replaced) > 0 {
		add("segments below %s are {id}, as more than a dozen were requested alike: those that name a function stay with --route '%s/function', one for each", first(replaced), replaced[0])
	}
	if !slices.ContainsFunc(d.Flows, func(f Flow) bool { return f.Latency != nil }) {
		add("the log has no request times: the SLOs are examples")
	}
	all = append(all, p.undecided(d)...)
	if v := d.Rates.Dispersion; v != nil && *v > bursty {
		add("requests are %s times as dispersed within a minute as the profile's Poisson arrivals: the busiest second has %s times the rate of the peak minute, which a scale of as much reaches",
			quantity.Format(*v, ""), quantity.Format(d.Rates.PeakSecond.Rate/d.Rates.PeakMinute.Rate, "ratio"))
	}
	for _, f := range d.Flows {
		if f.Errors >= noted {
			add("%s of the requests of %s failed: a log has what was answered, and not what was wanted, so the true rate may be higher, or retries may be part of it", quantity.Format(f.Errors, "share"), f.Name)
		}
	}
	if failed := failedOf(d); failed > mostFailed {
		add("%s of all requests failed: the log shows no share that may fail, so the SLOs on http_req_failed are an example", quantity.Format(failed, "share"))
	}
	for _, g := range p.gaps {
		if g.to >= p.top.at-secondsOfMinute*60 && g.from <= p.top.at+secondsOfMinute*60 {
			add("the log has no request for %d s from %s, within an hour of the peak: an outage, or lines are missing", g.seconds(), p.time(g.from))
		}
	}
	if n := d.LeftOut.Outside; n > 0 {
		add("%d requests are outside the window", n)
	}
	left := d.LeftOut.UnknownPaths + d.LeftOut.OtherMethods + d.LeftOut.TooManyPaths
	if float64(left) >= noted*float64(left+d.Requests) {
		add("%s of the requests are in no flow: %d for paths that are never found or never valid, %d by other methods, %d beyond the number of endpoints that are counted",
			quantity.Format(float64(left)/float64(left+d.Requests), "share"), d.LeftOut.UnknownPaths, d.LeftOut.OtherMethods, d.LeftOut.TooManyPaths)
	}
	if n := d.LeftOut.Apart; n > 0 {
		add("%d requests have times too far apart from the others to be counted", n)
	}
	if n := p.observed.Tally.Disorder; float64(n) >= noted*float64(d.Requests) && len(d.Inputs) == 1 {
		add("%s of the requests are more than a minute out of order: they are counted at their time", quantity.Format(float64(n)/float64(d.Requests), "share"))
	}
	return append(all, p.uneven(d.Inputs)...)
}

// undecided notes what is left out of the profile because a run could not decide it.
func (p *proposal) undecided(d Document) (all []string) {
	if len(p.moved) > 0 {
		all = append(all, fmt.Sprintf("%s: too few transactions to decide an SLO by themselves, so they are a part of what is left", strings.Join(p.moved, ", ")))
	}
	var left []string
	unjudged := make([][]string, len(d.Stages)) // flows by stage
	for i, f := range d.Flows {
		j := p.judgments[i]
		if j.undecided {
			all = append(all, fmt.Sprintf("%s has %d transactions in its largest judged stage, and an SLO needs %d: no run can pass before that stage is longer, or the flow is removed", f.Name, j.most, j.easiest.needed()))
			continue
		}
		var names []string
		for _, c := range j.left {
			names = append(names, c.name())
		}
		if len(names) > 0 {
			left = append(left, fmt.Sprintf("%s of %s", strings.Join(names, " and "), f.Name))
		}
		for _, s := range j.notJudged {
			unjudged[s] = append(unjudged[s], f.Name)
		}
	}
	if len(left) > 0 {
		all = append(all, "left out, as no judged stage of the flow has the transactions to decide it: "+strings.Join(left, ", ")+"; lengthen one, and add it")
	}
	for s, flows := range unjudged {
		if len(flows) > 0 {
			all = append(all, fmt.Sprintf("the stage from %s has too few transactions to decide the SLOs of %s, and is not judged for them", d.Stages[s].Start, strings.Join(flows, ", ")))
		}
	}
	return all
}

// mayBeNames says where names of people may be left.
func mayBeNames(d Document) string {
	return fmt.Sprintf("segments below %s may be names", first(d.MayBeNames))
}

const shownPlaces = 10

func first(places []string) string {
	if n := len(places) - shownPlaces; n > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(places[:shownPlaces], ", "), n)
	}
	return strings.Join(places, ", ")
}

// uneven notes logs that overlap, but of which one begins later or ends earlier: while it is
// missing, rates are too low. Logs of one server that follow each other do not overlap.
func (p *proposal) uneven(inputs []Input) (all []string) {
	type times struct{ first, last time.Time }
	var of []times
	for _, in := range inputs {
		first, err := time.Parse(time.RFC3339, in.First)
		last, err2 := time.Parse(time.RFC3339, in.Last)
		if err == nil && err2 == nil {
			of = append(of, times{first, last})
		}
	}
	limit := time.Duration(apart * float64(len(p.total)) * float64(time.Second))
	for i, a := range of {
		for _, b := range of[:i] {
			overlap := min(a.last.Unix(), b.last.Unix()) - max(a.first.Unix(), b.first.Unix())
			if time.Duration(overlap)*time.Second > limit && (a.first.Sub(b.first).Abs() > limit || a.last.Sub(b.last).Abs() > limit) {
				return []string{"the logs do not cover the same time: where one is missing, the rates are too low; choose a window that all cover"}
			}
		}
	}
	return nil
}
