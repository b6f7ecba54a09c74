// SPDX-License-Identifier: Apache-2.0

package diagnose

import (
	"fmt"
	"strings"

	"assay.dev/assay/certificate"
	"assay.dev/assay/internal/observe/wait"
	"assay.dev/assay/internal/quantity"
)

// descriptions of the components that are not waits of the database.
var descriptions = map[string]wait.Class{
	Generator: {
		Meaning: "the load generator itself was late",
		Remedy:  "more CPUs or more workers for the generator",
	},
	Network: {
		Meaning: "the time is spent on the network, between generator, service and database",
		Remedy:  "keep connections open; fewer round trips; more bandwidth",
	},
	Service: {
		Meaning: "the service itself spends the time on its requests",
		Remedy:  "profile the service; more CPUs or more instances of it",
	},
	Downstream: {
		Meaning: "the service waits for other services that it calls",
		Remedy:  "shorter timeouts, calls in parallel or after the response, another provider",
	},
	Neighbour: {
		Meaning: "another client of the same database keeps it busy",
		Remedy:  "run the other client's job at another time, in smaller steps, or on a replica or a server of its own",
	},
	Pool: {
		Meaning:     "statements wait for one of the service's database connections, while the database has capacity left",
		Experiments: []string{"pool-size"},
		Remedy:      "a larger pool; release connections sooner",
	},
}

// server is the database family of the run.
func (a *analysis) server() wait.Server {
	if d := a.run.Environment.Database; d != nil {
		return wait.Server(d.Flavour)
	}
	return wait.MySQL
}

// explain looks up the description of a component.
func (a *analysis) explain(b *certificate.Bottleneck) wait.Class {
	if c, ok := descriptions[b.Component]; ok {
		if b.Component == Service && a.serviceStopped() {
			c.Meaning, c.Remedy = "the service's process did not run for part of the time", "find what stops or throttles it: signals, a debugger, its CPU quota"
		}
		if b.Component == Service && a.serviceQueues() && !a.serviceStopped() {
			c.Meaning, c.Remedy = "requests wait for a free worker of the service", "more workers or instances before the load rises; instances that start sooner; requests that take less time"
		}
		if b.Cause == Retries {
			c.Meaning, c.Remedy = a.retriesSentence(), "fewer retries: a budget for them or a circuit breaker, and a backoff with a random part; let the other service drop calls whose callers have left"
		}
		if path := a.slowPath(); b.Component == Network && path != "" {
			c.Meaning = "the time is spent on the network between " + path
		}
		return c
	}
	class := b.Class
	if class == "" {
		class = b.Component
	}
	return wait.About(a.server(), b.Event, class)
}

// headline says how long a transaction takes, compared with the baseline.
func (a *analysis) headline() string {
	of := "A transaction"
	if a.run.Flow != "" { // service and database do not know the flows
		of += " of all flows"
	}
	text := fmt.Sprintf("%s takes %s on average at %s/s", of, ms(a.hold.mean()), number(a.hold.perSecond(scheduled)))
	switch {
	case a.base.parts == nil:
	case a.noBaseline:
		text += fmt.Sprintf(", and %s at %s/s, which already breaks an SLO", ms(a.base.mean()), number(a.base.perSecond(scheduled)))
	default:
		text += fmt.Sprintf(", against %s at %s/s", ms(a.base.mean()), number(a.base.perSecond(scheduled)))
	}
	return text
}

// noneSentence is the sentence for a run with nothing to explain.
func (a *analysis) noneSentence() string {
	most := 0
	for i, v := range a.hold.parts {
		if v > a.hold.parts[most] && a.names[i] != Residual {
			most = i
		}
	}
	begin := "Nothing to explain"
	if a.symptoms.aborted {
		begin = "No SLO was missed before the run was aborted"
	}
	return fmt.Sprintf("%s. %s; its largest component is %s, with %s.", begin, a.headline(), a.names[most], ms(a.hold.parts[most]))
}

// otherSLOsSentence is the sentence for a run that breaks SLOs, but not by slow
// transactions: transactions fail, or acknowledged ones are lost.
func (a *analysis) otherSLOsSentence() string {
	var names []string
	for _, s := range append(a.symptoms.failures, a.symptoms.others...) {
		names = append(names, s.Name())
	}
	verb := "is"
	if len(names) > 1 {
		verb = "are"
	}
	return fmt.Sprintf("%s %s broken, which the time of transactions does not explain. %s.", strings.Join(names, ", "), verb, a.headline())
}

// describe sets the sentence, evidence and advice for a component that is named.
func (a *analysis) describe(b *certificate.Bottleneck) {
	known := a.explain(b)
	event := ""
	if b.Event != "" {
		event = " (" + b.Event
		if b.Inferred {
			event += ", inferred"
		}
		event += ")"
	}
	if b.Client != "" {
		event = ", " + b.Client
	}
	b.Sentence = fmt.Sprintf("%s. The bottleneck is %s%s, with %s per transaction%s: %s.", a.headline(), b.Component, event, ms(*b.GrowthMs), queueing(b), known.Meaning)
	b.Evidence = a.evidence(b.Component)
	b.Remedy = known.Remedy
	if known.Experiments != nil {
		b.Confirm = known.Experiments
	}
}

// queueing is the addition to a component's time of the wait for connections that are held
// for longer because of it.
func queueing(b *certificate.Bottleneck) string {
	if b.QueuedMs == nil || *b.QueuedMs < 1 {
		return ""
	}
	return fmt.Sprintf(" and %s of waiting for connections because of it", ms(*b.QueuedMs))
}

// describeCandidate does the same for a leading component that is not named.
func (a *analysis) describeCandidate(b *certificate.Bottleneck, doubt string) {
	b.Sentence = fmt.Sprintf("%s. The leading candidate is %s, with %s per transaction%s, but %s.", a.headline(), b.Component, ms(*b.GrowthMs), queueing(b), doubt)
	b.Evidence = []string{fmt.Sprintf("%s leads with a confidence of %s.", b.Component, percent(*b.Confidence))}
	if b.RunnerUp != nil {
		b.Evidence = append(b.Evidence, fmt.Sprintf("%s is second, with %s per transaction.", b.RunnerUp.Component, ms(*b.RunnerUp.GrowthMs)))
	}
	b.Evidence = append(b.Evidence, a.evidence(b.Component)...)
	if known := a.explain(b); known.Experiments != nil {
		b.Confirm = known.Experiments // or refute
	}
	b.Component = Undetermined
}

func ms(v float64) string { return quantity.Format(v, "ms") }

func number(v float64) string { return quantity.Value(v, "") }

func percent(share float64) string { return quantity.Format(share, "share") }
