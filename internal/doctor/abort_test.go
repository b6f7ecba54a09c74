//go:build live

package doctor

import (
	"errors"
	"strings"
	"testing"
	"time"

	"assay.dev/assay/internal/observe/collect/pi"
	"assay.dev/assay/internal/observe/collect/sampling"
	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/spec"
)

func aborting(a spec.Abort) Load {
	a.Expression, a.For = "max>5 for 3s", 3*time.Second
	return Load{Profile: spec.Profile{Name: "p", Abort: []spec.Abort{{Metric: metric.RequestFailed}, a}}}
}

// A condition on the database that could not be read refuses the run.
func TestAbortOnDatabase(t *testing.T) {
	good := Database{Waits: sampling.Examination{Variables: []string{"Threads_connected", "Aborted_clients", "Uptime"}}}
	with := func(err error) Database { return Database{WaitsErr: err} }
	const named, target = "u@tcp(127.0.0.1:3306)/", "http://127.0.0.1:1"
	for name, c := range map[string]struct {
		metric  string
		subject Subject
		db      Database
		state   State // empty: no finding
		words   string
		remedy  string
	}{
		"sessions":               {metric.DBSessions, Subject{DSN: named}, good, OK, "", ""},
		"connections":            {metric.DBConnections, Subject{DSN: named}, good, OK, "", ""},
		"aborted connections":    {metric.DBAborted, Subject{DSN: named}, good, OK, "", ""},
		"deadlocks not shown":    {metric.DBDeadlocks, Subject{DSN: named}, good, Lacking, "profile p aborts on db_deadlocks, which cannot be watched: the server shows none of Innodb_deadlocks, deadlocks", "GRANT PROCESS"},
		"no database":            {metric.DBSessions, Subject{Target: target}, good, Lacking, "cannot be watched: no database is named", "set ASSAY_DB"},
		"of the local stack":     {metric.DBSessions, Subject{}, good, "", "", ""},
		"found by another check": {metric.DBSessions, Subject{DSN: named, Target: target}, Database{Err: errors.New("refused")}, "", "", ""},
		"no rights":              {metric.DBSessions, Subject{DSN: named}, with(&sampling.RightsError{Err: errors.New("denied"), SQL: "GRANT X"}), Lacking, "denied", "run as an administrator: GRANT X"},
		"blind":                  {metric.DBSessions, Subject{DSN: named}, with(&sampling.BlindError{Why: "it is off", Remedy: "turn it on"}), Lacking, "it is off", "turn it on"},
		"insights":               {metric.DBSessions, Subject{DSN: named, Insights: pi.Instance{}}, good, Lacking, "publishes after the run", "name the database itself"},
	} {
		t.Run(name, func(t *testing.T) {
			c.subject.Loads = []Load{aborting(spec.Abort{Metric: c.metric})}
			all := c.subject.abortFindings(observations{db: c.db, aborts: c.subject.examineAborts(t.Context())})
			if c.state == "" {
				if len(all) > 0 {
					t.Errorf("%+v", all)
				}
				return
			}
			if len(all) != 1 || all[0].Check != CheckAbort || all[0].Profile != "p" || all[0].State != c.state || !strings.Contains(all[0].Why, c.words) || !strings.Contains(all[0].Remedy, c.remedy) {
				t.Errorf("%+v", all)
			}
		})
	}
}

// Gauges and lags that a condition names must be readable too.
func TestAbortOnGauge(t *testing.T) {
	no := errors.New("refused")
	for name, c := range map[string]struct {
		abort  spec.Abort
		result *gaugeResult
		words  string
	}{
		"its own gauge":    {spec.Abort{Metric: "waiting", Gauge: &spec.Gauge{Metric: "jobs"}}, &gaugeResult{metric: metric.AbortGauge, profile: "p", err: no}, "refused"},
		"a queue":          {spec.Abort{Metric: "queue_depth"}, &gaugeResult{metric: "queue_depth", profile: "p", err: no}, "refused"},
		"a lag":            {spec.Abort{Metric: metric.BinlogReaderLag}, &gaugeResult{metric: metric.BinlogReaderLag, profile: "p", err: no}, "refused"},
		"no replica named": {spec.Abort{Metric: metric.ReplicaLag}, nil, "profile p aborts on replica_lag, and no replica is named"},
	} {
		var results []*gaugeResult
		if c.result != nil {
			results = append(results, c.result)
		}
		s := Subject{Loads: []Load{aborting(c.abort)}}
		if all := s.gaugesFindings(results); len(all) != 1 || all[0].State != Lacking || all[0].Why != c.words || all[0].Remedy == "" {
			t.Errorf("%s: %+v", name, all)
		}
	}
}
