package fleet

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"assay.dev/assay/internal/load/arrivals"
	"assay.dev/assay/internal/load/k6"
	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/plan"
	"assay.dev/assay/internal/spec"
	"assay.dev/assay/internal/wire"
)

// Spec describes the run that workers take part in.
type Spec struct {
	Run     string
	Profile spec.Profile
	Plan    plan.Plan
	Archive string   // sha256 of the script's archive, in hex
	Target  string   // base URL, ASSAY_TARGET
	Hosts   []string // allowed targets, in addition to loopback
	DSN     string   // ASSAY_DB of scripts that need the database; else empty
	Nodes   string   // ASSAY_DB_NODES of scripts that need its nodes; else empty
	Outputs []string // further k6 outputs, as for --out; %d is replaced by the worker's number
}

// scenarioName is k6's name of the scenario, from the profile's: k6 allows letters,
// digits, - and _ only.
func scenarioName(profile string) string {
	name := []byte(profile)
	for i, c := range name {
		if !(c == '-' || c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z') {
			name[i] = '_'
		}
	}
	return string(name)
}

// dnsTTL is how long a worker connects to the addresses that a name had, unless the script
// sets its own (options.dns). k6's default of 5 minutes would charge a system that fails over
// by DNS with the generator's memory: its clients follow within the TTL of its records.
const dnsTTL = 5 * time.Second

// Assignment is the share of worker i, without its credential. Each flow is a scenario of
// k6, with an executor of its own.
func (s Spec) Assignment(i int) (wire.Assignment, error) {
	w := s.Plan.Workers[i]
	scenarios := map[string]any{}
	session := k6.Session{Run: s.Run, Seed: s.Plan.Seed, VUs: w.VUs, Rate: s.Plan.Target * w.Share, Marks: s.Profile.Marking, Outputs: len(s.Outputs) > 0}
	plans := s.Plan.PerFlow()
	for n, f := range s.Profile.Flows {
		pl, name := plans[n], scenarioName(cmp.Or(f.Name, s.Profile.Name))
		parameters := arrivals.Parameters{Plan: pl, VUs: pl.Workers[i].VUs, RunSetup: i == 0, Hosts: s.Hosts}
		parameters.Fleet, parameters.Flows = plan.Fleet{}, nil // long, and of no use to the worker
		scenario := map[string]any{
			"executor": arrivals.ExecutorType,
			"assay":    parameters,
		}
		if s.Profile.Named() {
			scenario["exec"] = function(n)
			scenario["env"] = map[string]string{"ASSAY_FLOW": strconv.Itoa(n + 1)}
		}
		scenarios[name] = scenario
		session.Flows = append(session.Flows, k6.Flow{Scenario: name, SLOs: f.SLOs, DisplacedAfter: pl.DisplacedAfter, Timeout: pl.Timeout, Ledger: !s.Profile.Named() || f.Ledger != nil, Expected: f.Expected})
	}
	config, err := json.Marshal(map[string]any{"scenarios": scenarios, "dns": map[string]string{"ttl": dnsTTL.String()}})
	if err != nil {
		return wire.Assignment{}, fmt.Errorf("share of worker %d: %w", i, err)
	}
	sessionFile, err := json.Marshal(session)
	if err != nil {
		return wire.Assignment{}, fmt.Errorf("share of worker %d: %w", i, err)
	}
	return wire.Assignment{
		Run: s.Run, Source: metric.WorkerSource(i), Number: i, Of: len(s.Plan.Workers), Archive: s.Archive,
		Config: config, Session: sessionFile, Segment: w.Segment, Sequence: s.Plan.Sequence, Setup: i == 0,
		SystemTags: k6.SystemTags(s.Profile.AllSLOs()), Target: s.Target, Seed: s.Plan.Seed, Outputs: s.Outputs, Database: s.DSN,
		Nodes: s.Nodes, Env: s.Profile.Env.Pairs(),
	}, nil
}
