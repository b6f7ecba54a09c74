package doctor

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"

	"assay/harness/doctor/probe"
	"assay/harness/hint"
	"assay/harness/observe/collect/gauge"
	"assay/harness/observe/metric"
	"assay/harness/spec"
)

// look is a gauge that a run would read, and what became of reading it once.
type look struct {
	metric  string
	profile string // that says where it is read; empty: the command line does
	err     error
}

// MetricsOf is where a service exposes its metrics.
func MetricsOf(target string) string { return strings.TrimSuffix(target, "/") + "/metrics" }

// lookAtGauges reads each once, side by side. What is not known yet, as the address
// of the local stack before it is up, is left out.
func (s Subject) lookAtGauges(ctx context.Context) (all []*look) {
	o := gauge.Options{Database: s.DSN, Readers: s.Readers, Hosts: slices.Concat(s.File.Targets, s.AllowHosts)}
	if u, err := url.Parse(s.Target); err == nil && s.Target != "" {
		o.Service, o.Hosts = MetricsOf(s.Target), append(o.Hosts, u.Hostname())
	}
	var looking sync.WaitGroup
	examine := func(o gauge.Options, profile string) {
		for _, name := range o.Metrics() {
			one := &look{metric: name, profile: profile}
			all = append(all, one)
			looking.Go(func() { one.err = probe.LookAtGauge(ctx, o, name) })
		}
	}
	examine(o, "")
	for _, l := range s.Loads {
		of := o
		of.Profile, of.Readers = l.Profile, nil
		examine(of, l.Profile.Name)
	}
	looking.Wait()
	return all
}

// gaugesFindings judge the gauges that a run would read: where an SLO judges one,
// it may not be missing.
func (s Subject) gaugesFindings(looks []*look) (all Findings) {
	if judged := s.judging(metric.ReplicaLag, ""); judged != "" && len(s.Readers) == 0 {
		all = append(all, bad(CheckReaders, "no replica is named", "a DSN of each", fmt.Sprintf("profile %s judges %s, and no replica is named", judged, metric.ReplicaLag),
			"name each with --db-reader, like --db-reader 'user@tcp(127.0.0.1:3307)/'"))
	}
	for _, l := range looks {
		f := s.gaugeFinding(*l)
		f.Profile = l.profile
		all = append(all, f)
	}
	return all
}

func (s Subject) gaugeFinding(l look) Finding {
	d, _ := metric.Find(l.metric)
	check, who, needed, look := CheckGauges, l.metric, "it can be read", "what the profile's "+d.Key+" says"
	if d.From(metric.SourceLag) {
		check, who, needed, look = CheckReaders, "the binlog's reader", "their lag can be read", "what its DSN, query or metric says"
	}
	if l.metric == metric.ReplicaLag {
		who = fmt.Sprintf("%d replicas", len(s.Readers))
	}
	if l.err == nil {
		return fine(check, who, needed)
	}
	why, remedy := l.err.Error(), cmp.Or(hint.Of(l.err), "see that it is up, and "+look)
	if s.judging(l.metric, l.profile) != "" {
		return bad(check, reason(l.err), needed, why, remedy)
	}
	return doubtful(check, reason(l.err), needed, why, remedy)
}

// judging is the first profile that has an SLO on a metric, of one or of all.
func (s Subject) judging(name, profile string) string {
	for _, l := range s.Loads {
		if l.Profile.Name == cmp.Or(profile, l.Profile.Name) && slices.ContainsFunc(l.Profile.SLOs, func(s spec.SLO) bool { return s.Metric == name }) {
			return l.Profile.Name
		}
	}
	return ""
}
