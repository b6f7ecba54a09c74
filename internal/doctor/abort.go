package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"assay.dev/assay/internal/crash"
	"assay.dev/assay/internal/hint"
	"assay.dev/assay/internal/observe/collect/gauge"
	"assay.dev/assay/internal/observe/collect/neighbour"
	"assay.dev/assay/internal/observe/collect/sampling"
	"assay.dev/assay/internal/observe/collect/service"
	"assay.dev/assay/internal/observe/database"
	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/spec"
)

// CheckAbort is the check of what abort conditions read. Lags and gauges are checked by
// CheckReaders and CheckGauges.
const CheckAbort = "abort"

// neighbourTimeout is enough for three tries of the slowest health request.
const neighbourTimeout = 31 * time.Second

// abortSources are the sources of abort conditions, each read once.
type abortSources struct {
	exposed    []string // metrics of the catalogue that the service has
	unexposed  error    // why they are not known
	neighbours []error  // by neighbour, in the order of the profiles and their conditions
}

// watched calls f with each condition that is not on the load itself.
func (s Subject) watched(f func(profile string, a spec.Abort)) {
	for _, l := range s.Loads {
		for _, a := range l.Profile.Abort {
			if !a.OfLoad() {
				f(l.Profile.Name, a)
			}
		}
	}
}

// examineAborts reads the service and the neighbours, as far as conditions need them.
func (s Subject) examineAborts(ctx context.Context) *abortSources {
	all, ofService := &abortSources{}, false
	var neighbours []spec.Neighbour
	s.watched(func(_ string, a spec.Abort) {
		if a.Neighbour != nil {
			neighbours = append(neighbours, *a.Neighbour)
		}
		ofService = ofService || a.Source() == metric.SourceService
	})
	all.neighbours = make([]error, len(neighbours))
	patient, cancel := context.WithTimeout(ctx, neighbourTimeout)
	defer cancel()
	var wg crash.Group
	for i, n := range neighbours {
		wg.Go(func() { all.neighbours[i] = neighbour.Examine(patient, n) })
	}
	if u, err := url.Parse(s.Target); err == nil && s.Target != "" && ofService {
		c := service.New(MetricsOf(s.Target), u.Hostname())
		if s.Instances != nil {
			c = service.NewOf(s.Instances)
		}
		defer c.Close() //nolint:errcheck // it was only read
		within, cancel := context.WithTimeout(ctx, databaseTimeout)
		defer cancel()
		all.exposed, all.unexposed = c.Examine(within)
	}
	wg.Wait()
	return all
}

// abortFindings judges whether a run could read what its abort conditions name. One that
// cannot be read would protect nobody while it seems to, so that the run is refused.
func (s Subject) abortFindings(o observations) (all Findings) {
	neighbour := 0
	s.watched(func(profile string, a spec.Abort) {
		var err error
		switch a.Source() {
		case metric.SourceNeighbours:
			err = o.aborts.neighbours[neighbour]
			neighbour++
		case metric.SourceService:
			if s.Target == "" {
				return // it is not known yet, like that of the local stack
			}
			err = o.aborts.readable(a.Metric, MetricsOf(s.Target))
		case metric.SourceDatabase:
			if s.DSN == "" && s.Insights == nil && s.Target == "" || s.DSN != "" && (o.db.DSNErr != nil || o.db.Err != nil) {
				return // likewise; or it is found already that there is no database
			}
			err = s.readableIn(o.db, a.Metric)
		default:
			return
		}
		f := pass(CheckAbort, a.Metric, "it can be read")
		if err != nil {
			remedy := cmp.Or(hint.Of(err), "mend it, or remove the condition: an abort that cannot see protects nobody")
			f = fail(CheckAbort, reason(err), "it can be read", fmt.Sprintf("profile %s aborts on %s, which cannot be watched: %s", profile, a.Metric, database.Line(err.Error())), remedy)
		}
		f.Profile = profile
		all = append(all, f)
	})
	return all
}

// readable returns why a metric of the service cannot be read; nil if it can.
func (a *abortSources) readable(name, url string) error {
	const next = "expose go_sql_* (client_golang) or hikaricp_connections* (Micrometer), or name a gauge of the service by itself, like " +
		`"waiting": {"gauge": {"metric": "pool_pending"}, "threshold": "max>20 for 10s"}`
	switch {
	case a.unexposed != nil:
		return hint.With(a.unexposed, next)
	case !slices.Contains(a.exposed, name):
		return hint.With(fmt.Errorf("%s has no metric from which it is read", url), next)
	}
	return nil
}

// readableIn returns why a metric cannot be read from the database; nil if it can.
func (s Subject) readableIn(d Database, name string) error {
	var rights *sampling.RightsError
	var blind *sampling.BlindError
	names := metric.Variables(name)
	switch {
	case s.Insights != nil:
		return hint.With(errors.New("its source, Performance Insights, publishes after the run"), "name the database itself: --db with the DSN of the writer")
	case s.DSN == "":
		return hint.With(errors.New("no database is named"), "set ASSAY_DB to its DSN")
	case errors.As(d.WaitsErr, &rights):
		return hint.With(rights.Err, rights.Hint())
	case errors.As(d.WaitsErr, &blind):
		return hint.With(errors.New(blind.Why), blind.Remedy)
	case d.WaitsErr != nil:
		return d.WaitsErr
	case names != nil && !slices.ContainsFunc(d.Waits.Variables, func(v string) bool { return slices.Contains(names, v) }):
		return hint.With(fmt.Errorf("the server shows none of %s", strings.Join(names, ", ")), "on MySQL, run as an administrator: GRANT PROCESS ON *.* to the user of the run")
	}
	return nil
}

// gaugeResult is the result of reading a gauge once, as a run would.
type gaugeResult struct {
	metric  string
	profile string // profile that configures the gauge; empty: the command line does
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
			wg.Go(func() {
				one.err = within(ctx, databaseTimeout, func(ctx context.Context) error { return o.Examine(ctx, name) })
			})
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

func judges(p spec.Profile, name string) bool {
	return slices.ContainsFunc(p.AllSLOs(), func(s spec.SLO) bool { return s.Metric == name })
}
