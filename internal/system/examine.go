package system

import (
	"context"

	"assay.dev/assay/internal/doctor"
	"assay.dev/assay/internal/hint"
	"assay.dev/assay/internal/localstack"
	"assay.dev/assay/internal/observe/influx"
	"assay.dev/assay/internal/plan"
	"assay.dev/assay/internal/run"
	"assay.dev/assay/internal/spec"
	"assay.dev/assay/internal/trial"
)

// Names of the checks of a profile's faults, and of its stubs.
const (
	checkFaults = "faults"
	checkStubs  = "stubs"
)

// Examine finds what runs of the profiles lack, without starting anything. If o has no
// target it examines the local stack if that is up, with the stack's database unless
// ownDatabase is set.
func Examine(ctx context.Context, o run.Options, profiles []spec.Profile, d Databases, ownDatabase bool, view influx.Access) (doctor.Findings, error) {
	s := doctor.Subject{
		File: o.File, Run: trial.NewID("doctor"), Seed: 1, Dir: o.Runs, Target: o.Target, AllowHosts: o.AllowHosts, Executable: o.Executable,
		Influx: doctor.Influx{URL: view.URL, Token: view.Token}, DSN: d.DSN, Nodes: o.Nodes, Insights: d.Insights, Readers: d.Readers,
	}
	var decisions doctor.Findings
	for _, p := range profiles {
		pl, err := plan.New(p, o.Workers, s.Seed)
		if err != nil {
			return nil, err
		}
		s.Loads = append(s.Loads, doctor.Load{Profile: p, Plan: pl})
		found, err := trial.Decisions(p, o.Workers, p.Scope(), o.Runs)
		if err != nil {
			return nil, err
		}
		decisions = append(decisions, found...)
	}
	all := append(doctor.Machine(s), decisions...)
	var nodes run.Nodes
	if s.Target == "" {
		state, found := findStack(ctx)
		all = append(all, found)
		if state != nil {
			s.Target = state.Target
			if !ownDatabase {
				s.DSN, s.Insights, s.Nodes = state.Collector, nil, state.NodesDSN
			}
			nodes = nodesOf(localstack.DefaultDir, state)
		}
	}
	for _, p := range profiles {
		if err := run.CheckFaults(ctx, p, nodes); err != nil {
			all = append(all, doctor.Finding{
				Check: checkFaults, Profile: p.Name, State: doctor.Lacking, Observed: "no such node", Needed: "the nodes of the profile's faults", Why: err.Error(), Remedy: hint.Of(err),
			})
		}
	}
	all = append(all, examineStubs(ctx, o, profiles)...)
	all = append(all, doctor.External(ctx, s)...)
	return all, context.Cause(ctx) // interrupted checks are not findings
}
