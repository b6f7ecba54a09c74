package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"assay.dev/assay/internal/crash"
	"assay.dev/assay/internal/doctor/probe"
	"assay.dev/assay/internal/hint"
	"assay.dev/assay/internal/observe/collect/sampling"
	"assay.dev/assay/internal/observe/collect/service"
	"assay.dev/assay/internal/observe/database"
	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/spec"
)

// CheckAbort is the check of what abort conditions read. Lags and gauges are checked by
// CheckReaders and CheckGauges.
const CheckAbort = "abort"

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
	var wg crash.Group
	for i, n := range neighbours {
		wg.Go(func() { all.neighbours[i] = probe.ExamineNeighbour(ctx, n) })
	}
	if u, err := url.Parse(s.Target); err == nil && s.Target != "" && ofService {
		c := service.New(MetricsOf(s.Target), u.Hostname())
		if s.Instances != nil {
			c = service.NewOf(s.Instances)
		}
		all.exposed, all.unexposed = probe.ExamineService(ctx, c)
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
func (s Subject) readableIn(d probe.Database, name string) error {
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
