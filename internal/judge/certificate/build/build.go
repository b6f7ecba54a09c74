// SPDX-License-Identifier: Apache-2.0

package build

import (
	"cmp"
	"strings"
	"time"

	"assay.dev/assay/certificate"
	"assay.dev/assay/internal/document"
	"assay.dev/assay/internal/judge/diagnose"
	"assay.dev/assay/internal/judge/verdict"
	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/observe/record"
	"assay.dev/assay/internal/version"
)

// Of judges a record and builds its certificate.
func Of(r record.Run) certificate.Certificate { return Certificate(r, verdict.Judge(r)) }

// Certificate builds the certificate of a judged record. It is not signed: see
// certificate.Certificate.SignedBy.
func Certificate(r record.Run, v verdict.Verdict) certificate.Certificate {
	found, judge, issued := diagnose.Of(r, v), version.Of(), r.Facts.Issued.UTC().Truncate(time.Second)
	c := document.Rounded(certificate.Certificate{
		Schema: certificate.SchemaName, Run: r.Plan.Run, Profile: r.Plan.Profile.Name,
		Verdict: v.Outcome.String(), Claim: v.Claim,
		Rate: v.Rate, Window: v.Window, Latency: v.Latency, Outcomes: v.Outcomes,
		Waits: found.Waits, Split: found.Split, Bottleneck: found.Bottleneck,
		Statements: found.Statements, Resources: list(found.Resources),
		Errors: v.Errors, Checks: v.Checks, Pool: v.Pool, Ledger: v.Ledger, Invariants: v.Invariants, Abort: v.Aborted,
		Generator: v.Generator, Scope: r.Plan.Scope,
		Environment: certificate.Environment{
			Host: r.Environment.Host, CoLocation: list(r.Environment.CoLocation), Target: r.Plan.Target,
			Database: r.Environment.Database,
			Tool:     r.Plan.Tool, Thresholds: r.Plan.Thresholds, Scripts: list(r.Plan.Scripts), Seed: r.Plan.Load.Seed,
			Fingerprint: Fingerprint(r.Environment), Service: r.Environment.Service, ServiceUnchanged: unchanged(r, v),
		},
		Limitations: list(v.Limitations), LeftOut: list(v.LeftOut),
		Evidence: certificate.Evidence{ManifestSHA256: strings.TrimPrefix(r.Manifest, "sha256:")},
		JudgedBy: &judge, Issued: issued, Expires: issued.Add(certificate.Validity),
		Transactions: v.Transactions, Marking: marking(r.Plan),
	})
	if r.Rejudged != nil {
		c.Rejudged = &certificate.Rejudged{Thresholds: *r.Rejudged}
	}
	if n := r.Facts.Attempts; n > 0 {
		c.Attempts = &n
	}
	if e := r.Facts.Earlier; e != nil {
		for _, v := range e.Verdicts {
			c.Earlier = append(c.Earlier, certificate.Attempts{Verdict: cmp.Or(v.Verdict, "none"), Runs: v.Runs})
		}
	}
	for _, f := range v.Flows {
		f.Verdict = f.Outcome.String()
		c.Flows = append(c.Flows, document.Rounded(f.Flow))
	}
	c.SLOs, c.Rules = slos(v.SLOs), rules(v.Rules)
	addRecoveries(&c, v.Recoveries)
	roundShown(&c)
	return c
}

// roundShown rounds the numbers that are always there, which document.Rounded leaves as they
// are.
func roundShown(c *certificate.Certificate) {
	for i := range c.Waits {
		w := &c.Waits[i]
		w.AAS, w.Share = document.Round(w.AAS), document.Round(w.Share)
	}
	for i := range c.Statements {
		s := &c.Statements[i]
		s.Share, s.WaitShare = document.Round(s.Share), document.Round(s.WaitShare)
	}
	for i := range c.Transactions {
		t := &c.Transactions[i]
		t.Scheduled, t.LatencyMs, t.Violates = t.Scheduled.Truncate(time.Microsecond), document.Round(t.LatencyMs), list(t.Violates)
	}
	for i := range c.Generator.Addresses {
		share := &c.Generator.Addresses[i].Share
		*share = document.Round(*share)
	}
	if c.Abort != nil {
		c.Abort.Observed = list(c.Abort.Observed)
		for i := range c.Abort.Observed {
			value := &c.Abort.Observed[i].Value
			*value = *roundNear(value, c.Abort.Limit)
		}
	}
}

// list turns nil into an empty list: null would mean "no data".
func list[T any](all []T) []T {
	if all == nil {
		return []T{}
	}
	return all
}

func slos(found []verdict.SLO) []certificate.SLO {
	all := make([]certificate.SLO, 0, len(found))
	for _, s := range found {
		c := document.Rounded(s.SLO)
		c.Observed, c.Verdict = roundNear(s.Observed, s.Limit), s.Outcome.String()
		c.ObservedAtLeast, c.ObservedAtMost = roundNear(s.ObservedAtLeast, s.Limit), roundNear(s.ObservedAtMost, s.Limit)
		all = append(all, c)
	}
	return all
}

func rules(found []verdict.Rule) []certificate.Rule {
	all := make([]certificate.Rule, 0, len(found))
	for _, r := range found {
		c := document.Rounded(r.Rule)
		if c.Verdict = r.Outcome.String(); r.Outcome == verdict.Pass && r.Limitation != "" {
			c.Verdict = certificate.Limitation
		}
		if c.Limit != nil {
			c.Observed = roundNear(r.Observed, *c.Limit)
		}
		all = append(all, c)
	}
	return all
}

// changes are the names of the changes in load, by the metric that judges them.
var changes = map[string]string{metric.SettleTime: "end of overload", metric.TimeToScale: "step up"}

// addRecoveries adds the recoveries from faults, and those from changes in load.
func addRecoveries(c *certificate.Certificate, all []verdict.Recovery) {
	for _, r := range all {
		r.Fault = document.Rounded(r.Fault)
		r.At = r.At.UTC()
		if change := changes[r.Metric]; change != "" {
			c.LoadChanges = append(c.LoadChanges, certificate.LoadChange{
				Flow: r.Flow, Change: change, Rate: r.Rate, At: r.At, SettledMs: r.RecoveryMs,
				Scheduled: r.Scheduled, NotCompleted: r.NotCompleted,
			})
			continue
		}
		r.At = r.At.Truncate(time.Millisecond)
		c.Faults = append(c.Faults, r.Fault)
	}
}

func marking(p record.Plan) *certificate.Marking {
	m := p.Profile.Marking
	if m.Header == "" {
		return nil
	}
	return &certificate.Marking{Header: m.Header, Value: p.Run, Sampled: m.Sampled, Baggage: m.Baggage}
}

// roundNear rounds a value that is compared with a limit, unless rounding would move
// it to the limit or across it: a reader would see 0.01 violate rate<=0.01.
func roundNear(v *float64, limit float64) *float64 {
	if v == nil {
		return nil
	}
	if short := document.Round(*v); (short < limit) == (*v < limit) && (short > limit) == (*v > limit) {
		return &short
	}
	return v
}
