package diagnose

import (
	"fmt"
	"strings"

	"assay/harness/judge/verdict"
	"assay/harness/observe/wait"
	"assay/harness/quantity"
)

// about describes the components that are no waits of the database.
var about = map[string]wait.Class{
	Generator: {
		Meaning: "the load generator itself was late",
		Remedy:  "more CPUs or more workers for the generator",
	},
	Network: {
		Meaning: "requests and responses spend the time on the network",
		Remedy:  "keep connections open; fewer round trips; more bandwidth",
	},
	Service: {
		Meaning: "the service itself works on its requests",
		Remedy:  "profile the service; more CPUs or more instances of it",
	},
	Downstream: {
		Meaning: "the service waits for other services that it calls",
		Remedy:  "shorter time-outs, calls in parallel or after the response, another provider",
	},
	Pool: {
		Meaning:     "statements wait for one of the service's database connections, while the database has capacity left",
		Experiments: []string{"pool-size"},
		Remedy:      "a larger pool; connections that are released sooner",
	},
}

// server is the family of the run's database.
func (a *analysis) server() wait.Server {
	if d := a.run.Environment.Database; d != nil {
		return wait.Server(d.Flavour)
	}
	return wait.MySQL
}

// explain is what is known of a component.
func (a *analysis) explain(b *Bottleneck) wait.Class {
	if c, ok := about[b.Component]; ok {
		return c
	}
	class := b.Class
	if class == "" {
		class = b.Component
	}
	return wait.About(a.server(), b.Event, class)
}

// headline says how long a transaction takes.
func (a *analysis) headline() string {
	text := fmt.Sprintf("A transaction takes %s on average at %s/s", ms(a.hold.mean()), number(a.hold.perSecond(scheduled)))
	switch {
	case a.base.parts == nil:
	case a.noBaseline:
		text += fmt.Sprintf(", and %s at %s/s, which breaks an SLO already", ms(a.base.mean()), number(a.base.perSecond(scheduled)))
	default:
		text += fmt.Sprintf(", against %s at %s/s", ms(a.base.mean()), number(a.base.perSecond(scheduled)))
	}
	return text
}

// sentenceOfNone is that of a run with nothing to explain.
func (a *analysis) sentenceOfNone() string {
	most := 0
	for i, v := range a.hold.parts {
		if v > a.hold.parts[most] && a.names[i] != Residual {
			most = i
		}
	}
	return fmt.Sprintf("Nothing has to be explained. %s; the largest part of it is %s with %s.", a.headline(), a.names[most], ms(a.hold.parts[most]))
}

func (a *analysis) sentenceWithoutGrowth() string {
	return a.headline() + ", and no component that was measured explains it."
}

// sentenceOfOtherSLOs is that of a run which breaks no SLO by the time of its
// transactions: some fail, or acknowledged ones are lost.
func (a *analysis) sentenceOfOtherSLOs() string {
	all, verb := append(a.why.failures, a.why.others...), "is"
	if len(all) > 1 {
		verb = "are"
	}
	return fmt.Sprintf("%s %s broken, which a transaction's time does not explain. %s.", sloNames(all), verb, a.headline())
}

// describe writes sentence, evidence and advice of a component that is named.
func (a *analysis) describe(b *Bottleneck, f Findings) {
	known := a.explain(b)
	event := ""
	if b.Event != "" {
		event = " (" + b.Event
		if b.Inferred {
			event += ", inferred"
		}
		event += ")"
	}
	b.Sentence = fmt.Sprintf("%s. The bottleneck is %s%s, with %s a transaction: %s.", a.headline(), b.Component, event, ms(*b.Growth), known.Meaning)
	b.Evidence = a.evidence(b.Component, f)
	b.Remedy = known.Remedy
	if known.Experiments != nil {
		b.Confirm = known.Experiments
	}
}

// describeDoubt does so of a leading component that is not named.
func (a *analysis) describeDoubt(b *Bottleneck, doubt string, f Findings) {
	b.Sentence = fmt.Sprintf("%s. The leading candidate is %s, with %s a transaction, but %s.", a.headline(), b.Component, ms(*b.Growth), doubt)
	b.Evidence = []string{fmt.Sprintf("%s leads in %s of %d bootstrap resamples.", b.Component, percent(*b.Confidence), resamples)}
	if b.RunnerUp != nil {
		b.Evidence = append(b.Evidence, fmt.Sprintf("%s is second, with %s a transaction.", b.RunnerUp.Component, ms(b.RunnerUp.Growth)))
	}
	b.Evidence = append(b.Evidence, a.evidence(b.Component, f)...)
	if known := a.explain(b); known.Experiments != nil {
		b.Confirm = known.Experiments // or refute
	}
	b.Component = Undetermined
}

// describeRefusals does so of transactions that fail because connections are
// refused.
func (a *analysis) describeRefusals(b *Bottleneck) {
	known := wait.About(a.server(), "", Opening)
	b.Sentence = fmt.Sprintf("At %s/s %s transactions fail, and the database refuses %s connections, as its limit of connections is reached.",
		number(a.hold.perSecond(scheduled)), number(a.hold.sum[failed]), number(a.hold.sum[refused]))
	b.Evidence = []string{fmt.Sprintf("Connections are refused in %s of %d bootstrap resamples.", percent(*b.Confidence), resamples)}
	if *b.Confidence < Sure {
		b.Component = Undetermined
		return
	}
	b.Sentence += fmt.Sprintf(" The bottleneck is %s: %s.", Opening, known.Meaning)
	b.Confirm, b.Remedy = known.Experiments, known.Remedy
}

func sloNames(all []verdict.SLO) string {
	var names []string
	for _, s := range all {
		names = append(names, s.Metric+" "+s.Expression)
	}
	return strings.Join(names, ", ")
}

func ms(v float64) string { return quantity.Format(v, "ms") }

func number(v float64) string { return quantity.Value(v, "") }

func percent(share float64) string { return quantity.Format(share, "share") }
