package doctor

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"assay.dev/assay/internal/crash"
	"assay.dev/assay/internal/doctor/probe"
	"assay.dev/assay/internal/hint"
	"assay.dev/assay/internal/observe/collect/gauge"
	"assay.dev/assay/internal/observe/database"
	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/spec"
)

// gaugeResult is the result of reading a gauge once, as a run would.
type gaugeResult struct {
	metric  string
	profile string // that configures it; empty: the command line does
	err     error
}

// MetricsOf is the URL at which a service exposes its metrics.
func MetricsOf(target string) string { return strings.TrimSuffix(target, "/") + "/metrics" }

// examineGauges reads each gauge once, concurrently. It omits gauges whose address is not
// known yet, such as that of the local stack before it is up.
func (s Subject) examineGauges(ctx context.Context) (all []*gaugeResult) {
	o := gauge.Options{Database: s.DSN, Readers: s.Readers, Hosts: slices.Concat(s.File.Targets, s.AllowHosts)}
	if u, err := url.Parse(s.Target); err == nil && s.Target != "" {
		o.Service, o.Instances, o.Hosts = MetricsOf(s.Target), s.Instances, append(o.Hosts, u.Hostname())
	}
	var wg crash.Group
	examine := func(o gauge.Options, profile string) {
		for _, name := range o.Metrics() {
			one := &gaugeResult{metric: name, profile: profile}
			all = append(all, one)
			wg.Go(func() { one.err = probe.ExamineGauge(ctx, o, name) })
		}
	}
	examine(o, "")
	for _, l := range s.Loads {
		of := o
		of.Profile, of.Readers = l.Profile, nil
		examine(of, l.Profile.Name)
	}
	wg.Wait()
	return all
}

// gaugesFindings judges the gauges that a run would read. An unreadable gauge is a
// warning, unless an SLO judges it or an abort condition watches it.
func (s Subject) gaugesFindings(results []*gaugeResult) (all Findings) {
	if judged := s.profileJudging(metric.ReplicaLag, ""); judged != "" && len(s.Readers) == 0 {
		verb := "aborts on"
		if slices.ContainsFunc(s.Loads, func(l Load) bool { return l.Profile.Name == judged && judges(l.Profile, metric.ReplicaLag) }) {
			verb = "judges"
		}
		all = append(all, fail(CheckReaders, "no replica is named", "a DSN of each", fmt.Sprintf("profile %s %s %s, and no replica is named", judged, verb, metric.ReplicaLag),
			"name each with --db-reader, like --db-reader 'user@tcp(127.0.0.1:3307)/'"))
	}
	for _, r := range results {
		f := s.gaugeFinding(*r)
		f.Profile = r.profile
		all = append(all, f)
	}
	return all
}

func (s Subject) gaugeFinding(r gaugeResult) Finding {
	d, _ := metric.Find(r.metric)
	check, observed, needed, setting := CheckGauges, r.metric, "it can be read", "the profile's "+d.Key
	if r.metric == metric.ConsumerLag {
		setting = "the profile's consumer, and ASSAY_KAFKA"
	} else if d.From(metric.SourceLag) {
		check, observed, needed, setting = CheckReaders, "binlog reader", "their lag can be read", "its DSN, query or metric"
	}
	if r.metric == metric.ReplicaLag {
		observed = fmt.Sprintf("%d replicas", len(s.Readers))
	}
	if r.err == nil {
		return pass(check, observed, needed)
	}
	why, remedy := database.Line(r.err.Error()), cmp.Or(hint.Of(r.err), "check that it is running, and "+setting)
	if s.profileJudging(r.metric, r.profile) != "" {
		return fail(check, reason(r.err), needed, why, remedy)
	}
	return warn(check, reason(r.err), needed, why, remedy)
}

// profileJudging is the name of the first load with an SLO or an abort condition on a metric,
// or "" if there is none. It considers one profile only, if named.
func (s Subject) profileJudging(name, profile string) string {
	for _, l := range s.Loads {
		if l.Profile.Name == cmp.Or(profile, l.Profile.Name) && (judges(l.Profile, name) || l.Profile.Aborts(name)) {
			return l.Profile.Name
		}
	}
	return ""
}

// judges reports whether a profile has an SLO on a metric.
func judges(p spec.Profile, name string) bool {
	return slices.ContainsFunc(p.AllSLOs(), func(s spec.SLO) bool { return s.Metric == name })
}
