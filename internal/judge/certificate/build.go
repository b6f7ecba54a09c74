package certificate

import (
	"slices"
	"strings"
	"time"

	"assay.dev/assay/internal/document"
	"assay.dev/assay/internal/judge/diagnose"
	"assay.dev/assay/internal/judge/verdict"
	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/observe/record"
)

// Limitation is the verdict of a rule that holds, but limits what may be claimed.
const Limitation = "LIMITATION"

// Of judges a record and builds its certificate.
func Of(r record.Run) Certificate { return Build(r, verdict.Judge(r)) }

// Build builds the certificate of a judged record. It is not signed: see
// SignedBy.
func Build(r record.Run, v verdict.Verdict) Certificate {
	found, judge := diagnose.Of(r, v), ThisBuild()
	c := Certificate{
		Schema: SchemaName, Run: r.Plan.Run, Profile: r.Plan.Profile.Name,
		Verdict: v.Outcome.String(), Claim: v.Claim,
		Rate:        buildRate(v.Rate),
		Window:      Window(v.Window),
		Flows:       buildFlows(v.Flows),
		SLOs:        buildSLOs(v.SLOs),
		Rules:       buildRules(v.Rules),
		Latency:     buildLatency(v.Latency),
		Outcomes:    Outcomes(v.Outcomes),
		Waits:       buildWaits(found.Waits),
		Split:       buildSplit(found.Split),
		Bottleneck:  buildBottleneck(found.Bottleneck),
		Statements:  buildStatements(found.Statements),
		Resources:   buildResources(found.Resources),
		Errors:      buildErrors(v.Errors),
		Pool:        buildPool(v.Pool),
		Ledger:      buildLedger(v.Ledger),
		Faults:      buildFaults(v),
		LoadChanges: buildLoadChanges(v),
		Invariants:  buildInvariants(v.Invariants),
		Abort:       buildAbort(v.Aborted),
		Generator: Generator{
			Workers: v.Generator.Workers, CPUShare: round(v.Generator.CPUShare),
			WakeupLagP99Ms: round(v.Generator.WakeupLagP99Ms),
			FramesExpected: v.Generator.FramesExpected, FramesReceived: v.Generator.FramesReceived, Fleet: buildFleet(v.Generator.Fleet),
		},
		Scope: r.Plan.Scope,
		Environment: Environment{
			Host: r.Environment.Host, CoLocation: list(r.Environment.CoLocation), Target: r.Plan.Target,
			Database: r.Environment.Database,
			Tool:     r.Plan.Tool, Thresholds: r.Plan.Thresholds, Scripts: list(r.Plan.Scripts), Seed: r.Plan.Load.Seed,
			Fingerprint: Fingerprint(r.Environment), Service: r.Environment.Service, ServiceUnchanged: unchanged(r, v),
		},
		Limitations: list(v.Limitations),
		Evidence:    Evidence{ManifestSHA256: strings.TrimPrefix(r.Manifest, "sha256:")},
		JudgedBy:    &judge,
		Issued:      r.Facts.Issued.UTC().Truncate(time.Second),
		Expires:     r.Facts.Issued.UTC().Truncate(time.Second).Add(Validity),

		Transactions: buildTransactions(v.Transactions), Marking: buildMarking(r.Plan),
	}
	if r.Rejudged != nil {
		c.Rejudged = &Rejudged{Thresholds: *r.Rejudged}
	}
	if n := r.Facts.Attempts; n > 0 {
		c.Attempts = &n
	}
	return c
}

// NotSealed is the limitation of a signed certificate whose record the issuer's key has not
// sealed.
const NotSealed = "the key that signs this certificate has not sealed the record when the run ended: its owner does not vouch for what the record holds"

// SignedBy is the certificate as an issuer signs it. sealed: the issuer's key has sealed the
// record too.
func (c Certificate) SignedBy(issuer string, sealed bool) Certificate {
	c.Signed, c.Issuer, c.Evidence.Sealed = true, &issuer, sealed
	if !sealed {
		c.Limitations = append(slices.Clone(c.Limitations), NotSealed)
	}
	return c
}

func buildRate(r verdict.Rate) Rate {
	return Rate{
		Unit: r.Unit, Target: r.Target, Lowest: r.Lowest, Achieved: round(r.Achieved),
		Scheduled: r.Scheduled, Completed: r.Completed, Dropped: r.Dropped,
	}
}

func buildFlows(flows []verdict.Flow) (all []Flow) {
	for _, f := range flows {
		all = append(all, Flow{
			Name: f.Name, Scenario: f.Scenario, Verdict: f.Outcome.String(), Rate: buildRate(f.Rate), Window: Window(f.Window),
			Outcomes: Outcomes(f.Outcomes), Latency: buildLatency(f.Latency), Ledger: buildLedger(f.Ledger),
		})
	}
	return all
}

func buildFleet(workers []verdict.Worker) []Worker {
	all := make([]Worker, 0, len(workers))
	for _, w := range workers {
		all = append(all, Worker{
			Worker: w.Source, Host: w.Host, Pod: w.Pod, Node: w.Node, Share: w.Share, Transactions: w.Transactions, P95Ms: round(w.P95Ms), P99Ms: round(w.P99Ms),
			CPUShare: round(w.CPUShare), HostCPUShare: round(w.HostCPUShare), LagP99Ms: round(w.LagP99Ms), StartDelayMs: round(w.StartDelayMs),
			ClockOffsetMs: round(w.ClockOffsetMs), ClockDriftMs: round(w.ClockDriftMs), RoundTripMs: round(w.RoundTripMs),
			FramesExpected: w.FramesExpected, FramesReceived: w.FramesReceived, Unlike: w.Unlike,
		})
	}
	return all
}

// list turns nil into an empty list: null would mean "no data".
func list[T any](all []T) []T {
	if all == nil {
		return []T{}
	}
	return all
}

func buildSLOs(slos []verdict.SLO) []SLO {
	all := make([]SLO, 0, len(slos))
	for _, s := range slos {
		all = append(all, SLO{
			Flow: s.Flow, Metric: s.Metric, Expression: s.Expression, Unit: s.Unit, Limit: s.Limit,
			Observed: roundNear(s.Observed, s.Limit), Lower: round(s.Lower), Upper: round(s.Upper), Basis: string(s.Basis),
			Samples: s.Samples, Violations: s.Violations, AtLeast: s.AtLeast, AtMost: s.AtMost, Allowed: s.Allowed, Cleared: s.Cleared,
			DesignEffect: round(s.DesignEffect), Effective: round(s.Effective), Needed: round(s.Needed), Correlation: round(s.Correlation),
			FailedWindow: s.FailedWindow, CloseWindow: s.CloseWindow,
			ObservedAtLeast: roundNear(s.ObservedAtLeast, s.Limit), ObservedAtMost: roundNear(s.ObservedAtMost, s.Limit),
			Verdict: s.Outcome.String(),
		})
	}
	return all
}

func buildRules(rules []verdict.Rule) []Rule {
	all := make([]Rule, 0, len(rules))
	for _, r := range rules {
		c := Rule{
			ID: r.ID, Limit: round(r.Limit), Observed: round(r.Observed), Unit: r.Unit,
			Verdict: r.Outcome.String(), Detail: r.Detail, Advice: r.Advice,
		}
		if c.Limit != nil {
			c.Observed = roundNear(r.Observed, *c.Limit)
		}
		if r.Outcome == verdict.Pass && r.Limitation != "" {
			c.Verdict = Limitation
		}
		all = append(all, c)
	}
	return all
}

func buildLatency(all []verdict.Latency) map[string]Latency {
	out := make(map[string]Latency, len(all))
	for _, l := range all {
		out[l.Name] = Latency{
			Unit: "ms", Count: l.Count,
			Percentiles: buildPercentiles(l.Percentiles), Max: round(l.Max), Mean: round(l.Mean),
			Lower: buildPercentiles(l.Lower), Upper: buildPercentiles(l.Upper),
			AtLeast: buildEnds(l.AtLeast), AtMost: buildEnds(l.AtMost),
		}
	}
	return out
}

func buildPercentiles(p verdict.Percentiles) Percentiles {
	return Percentiles{P50: round(p.P50), P90: round(p.P90), P95: round(p.P95), P99: round(p.P99), P999: round(p.P999)}
}

// buildEnds is nil where all values are known.
func buildEnds(e verdict.Ends) *Ends {
	if e == (verdict.Ends{}) {
		return nil
	}
	return &Ends{P50: round(e.P50), P90: round(e.P90), P95: round(e.P95), P99: round(e.P99), P999: round(e.P999), Max: round(e.Max)}
}

func buildWaits(waits []diagnose.Wait) []Wait {
	if waits == nil {
		return nil
	}
	all := make([]Wait, 0, len(waits))
	for _, w := range waits {
		all = append(all, Wait{
			Event: w.Event, Class: w.Class, Inferred: w.Inferred, Client: w.Client,
			AAS: document.Round(w.AAS), Share: document.Round(w.Share), Samples: w.Samples,
			MsPerTransaction: round(w.MsPerTransaction), BaselineMsPerTransaction: round(w.BaselineMsPerTransaction),
		})
	}
	return all
}

func buildSplit(split []diagnose.Component) []Split {
	if split == nil {
		return nil
	}
	all := make([]Split, 0, len(split))
	for _, c := range split {
		all = append(all, Split{
			Component: c.Name, MsPerTransaction: round(&c.Ms), BaselineMsPerTransaction: round(c.BaselineMs),
			Lower: round(c.Lower), Upper: round(c.Upper),
		})
	}
	return all
}

func buildBottleneck(b *diagnose.Bottleneck) *Bottleneck {
	if b == nil {
		return nil
	}
	c := &Bottleneck{
		Component: b.Component, Class: b.Class, Event: b.Event, Inferred: b.Inferred,
		Confidence: round(b.Confidence), GrowthMs: round(b.Growth), QueuedMs: round(b.Queued), Client: b.Client, Flow: b.Flow, Cause: b.Cause, Sentence: b.Sentence,
		Evidence: list(b.Evidence), Confirm: list(b.Confirm), Remedy: b.Remedy,
	}
	if b.RunnerUp != nil {
		c.RunnerUp = &RunnerUp{b.RunnerUp.Component, round(&b.RunnerUp.Growth)}
	}
	return c
}

func buildStatements(statements []diagnose.Statement) []Statement {
	if statements == nil {
		return nil
	}
	all := make([]Statement, 0, len(statements))
	for _, s := range statements {
		all = append(all, Statement{
			Digest: s.Digest, Text: s.Text, Share: document.Round(s.Share),
			MsPerTransaction: round(&s.Ms), BaselineMsPerTransaction: round(s.BaselineMs),
			CallsPerTransaction: round(s.Calls), MsPerCall: round(s.MsPerCall), RowsPerCall: round(s.RowsPerCall),
			Class: s.Class, Event: s.Event, WaitShare: document.Round(s.WaitShare), Client: s.Client,
		})
	}
	return all
}

func buildResources(resources []diagnose.Resource) []Resource {
	all := make([]Resource, 0, len(resources))
	for _, r := range resources {
		all = append(all, Resource{r.Name, r.Unit, round(&r.PerTransaction), round(r.Baseline)})
	}
	return all
}

func buildErrors(errors []verdict.Error) []Error {
	if errors == nil {
		return nil
	}
	all := make([]Error, 0, len(errors))
	for _, e := range errors {
		all = append(all, Error{e.Where, e.Class, e.Count, round(e.PerTransaction)})
	}
	return all
}

func buildPool(p *verdict.Pool) *Pool {
	if p == nil {
		return nil
	}
	return &Pool{
		Max: round(p.Max), Open: round(p.Open), InUse: round(p.InUse), InUseMax: round(p.InUseMax),
		WaitsPerSecond: round(p.WaitsPerSecond), WaitsPerTransaction: round(p.WaitsPerTx), WaitMsPerTransaction: round(p.WaitMsPerTx), MsPerWait: round(p.WaitMsPerWait),
	}
}

func buildLedger(l *verdict.Ledger) *Ledger {
	if l == nil {
		return nil
	}
	return &Ledger{
		Acknowledged: l.Acknowledged, Persisted: l.Persisted,
		Missing: l.Missing, Duplicated: l.Duplicated, Unacknowledged: l.Unacknowledged,
		PersistLagMs: PersistLag{P50: round(l.PersistLagP50Ms), P99: round(l.PersistLagP99Ms), Max: round(l.PersistLagMaxMs)},
	}
}

func buildBetween(b verdict.Between) Between {
	return Between{Least: round(b.Least), Most: round(b.Most)}
}

// eachRecovery visits the recoveries with their flow.
func eachRecovery(v verdict.Verdict, visit func(flow string, r verdict.Recovery)) {
	if len(v.Flows) == 0 {
		for _, r := range v.Recoveries {
			visit("", r)
		}
	}
	for _, f := range v.Flows {
		for _, r := range f.Recoveries {
			visit(f.Name, r)
		}
	}
}

func buildFaults(v verdict.Verdict) (all []Fault) {
	eachRecovery(v, func(flow string, r verdict.Recovery) {
		if r.Metric == metric.RecoveryTime {
			all = append(all, Fault{
				Flow: flow, Number: r.Number, Fault: r.Fault, End: r.End, At: r.At.UTC().Truncate(time.Millisecond),
				FirstSuccessMs: buildBetween(r.FirstSuccess), RecoveryMs: buildBetween(r.Recovered),
				Scheduled: r.Scheduled, NotCompleted: r.NotCompleted,
			})
		}
	})
	return all
}

func buildLoadChanges(v verdict.Verdict) (all []LoadChange) {
	eachRecovery(v, func(flow string, r verdict.Recovery) {
		change := "step up"
		switch r.Metric {
		case metric.RecoveryTime:
			return
		case metric.SettleTime:
			change = "end of overload"
		}
		all = append(all, LoadChange{
			Flow: flow, Change: change, Rate: r.Rate, At: r.At.UTC(), SettledMs: buildBetween(r.Recovered),
			Scheduled: r.Scheduled, NotCompleted: r.NotCompleted,
		})
	})
	return all
}

func buildInvariants(invariants []verdict.Invariant) (all []Invariant) {
	for _, i := range invariants {
		all = append(all, Invariant(i))
	}
	return all
}

func buildAbort(a *verdict.Aborted) *Abort {
	if a == nil {
		return nil
	}
	out := &Abort{
		Condition: a.Condition, Expression: a.Expression, Protects: a.Protects, SLO: a.OfLoad, Truncated: a.Truncated,
		Unit: a.Unit, Limit: a.Limit, From: a.From, To: a.To, Observed: []Reading{},
	}
	for _, o := range a.Observed {
		out.Observed = append(out.Observed, Reading{o.At, *roundNear(&o.Value, a.Limit)})
	}
	return out
}
